#include "coordinator/rpc/answers/why.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;

RunRow Row(RunState state, const std::string& reason) {
  RunRow row;
  row.record.id = 12;
  row.record.request.name = "digits";
  row.record.state = state;
  row.record.reason = reason;
  row.extras.nodes = {"pc1", "pc2"};
  return row;
}

TEST(ExplainRun, AQueuedRunSaysItsPlaceAndWhatItWaitsFor) {
  RunRow row = Row(RunState::kQueued, "submitted");
  row.extras.nodes.clear();
  EXPECT_EQ(ExplainRun(row, {"needs 4 nodes, 2 are free", 3}, ""),
            "queued, number 3 in the queue: needs 4 nodes, 2 are free");
}

TEST(ExplainRun, AQueuedRunBehindOthersSaysItsPlaceOnce) {
  EXPECT_EQ(ExplainRun(Row(RunState::kQueued, ""), {"2nd in the queue, behind run 7", 2}, ""),
            "queued: 2nd in the queue, behind run 7");
}

TEST(ExplainRun, AReasonThatSaysTheStateIsEnough) {
  EXPECT_EQ(ExplainRun(Row(RunState::kTimedOut, "reached its time limit of 3 s"), {}, ""),
            "reached its time limit of 3 s");
  EXPECT_EQ(ExplainRun(Row(RunState::kCancelled, "cancelled by anna"), {}, ""),
            "cancelled by anna");
}

TEST(ExplainRun, ARunThatWaitsForAnotherIsNotInTheQueue) {
  EXPECT_EQ(ExplainRun(Row(RunState::kQueued, ""), {"waits for run 11", 0}, ""),
            "not in the queue yet: waits for run 11");
}

TEST(ExplainRun, ARunningOneNamesWhoHasNotArrived) {
  EXPECT_EQ(
      ExplainRun(Row(RunState::kRunning, "all ranks run"), {}, "rank 3 on pc2 has not arrived"),
      "running on pc1 and pc2: rank 3 on pc2 has not arrived");
  EXPECT_EQ(ExplainRun(Row(RunState::kRunning, "runs on pc1 and pc2"), {}, ""),
            "running on pc1 and pc2");
}

TEST(ExplainRun, AStoppingOneSaysWhatItStillWaitsFor) {
  EXPECT_EQ(ExplainRun(Row(RunState::kStopping, "cancelled by anna"),
                       {"waits for the devices of pc2: cancelled by anna", 0}, ""),
            "being stopped: waits for the devices of pc2: cancelled by anna");
}

TEST(ExplainRun, AnEndedOneSaysHowAndWhy) {
  RunRow row = Row(RunState::kFailed, "rank 1 on pc2 exited with 7");
  row.record.exit_code = 7;
  EXPECT_EQ(ExplainRun(row, {}, ""), "failed with exit code 7: rank 1 on pc2 exited with 7");
}

EventRecord Event(int32_t attempt, const std::string& text, int32_t rank = -1) {
  EventRecord event;
  event.run = 12;
  event.attempt = attempt;
  event.rank = rank;
  event.node = rank >= 0 ? "pc" + std::to_string(rank + 1) : "";
  event.text = text;
  return event;
}

std::vector<std::string> Texts(const std::vector<EventRecord>& events) {
  std::vector<std::string> texts;
  for (const EventRecord& event : events) texts.push_back(event.text);
  return texts;
}

TEST(TellOnce, AFailureIsToldWhereItHappenedAndNotAgain) {
  const std::string bad = "rank 1 on pc2 exited with code 7: bad";
  EXPECT_THAT(Texts(TellOnce({Event(0, "asks for 2 nodes"), Event(1, "exited with code 7: bad", 1),
                              Event(1, bad), Event(1, "was killed by SIGTERM", 0), Event(1, bad)})),
              ElementsAre("asks for 2 nodes", "exited with code 7: bad", "was killed by SIGTERM"));
}

TEST(TellOnce, AnAttemptsEndIsToldWithWhatFollowsFromIt) {
  const std::string bad = "rank 1 on pc2 exited with code 7: bad";
  EXPECT_THAT(
      Texts(TellOnce({Event(1, "exited with code 7: bad", 1), Event(1, bad),
                      Event(1, bad + "; restart 1 of 1"), Event(2, "exited with code 7: bad", 1),
                      Event(2, bad)})),
      ElementsAre("exited with code 7: bad", bad + "; restart 1 of 1", "exited with code 7: bad"));
}

TEST(TellOnce, RanksThatEndAlikeAreToldEach) {
  EXPECT_THAT(
      Texts(TellOnce({Event(1, "exited with code 0", 0), Event(1, "exited with code 0", 1)})),
      ElementsAre("exited with code 0", "exited with code 0"));
}

TEST(TellOnce, WhatHappenedToANodeTwiceIsToldTwice) {
  EventRecord lent;
  lent.node = "pc1";
  lent.text = "lent";
  EXPECT_THAT(Texts(TellOnce({lent, lent})), ElementsAre("lent", "lent"));
}

EventRecord End(const char* kind, int32_t attempt, int32_t rank, const std::string& text) {
  EventRecord event = Event(attempt, text, rank);
  event.kind = kind;
  return event;
}

TEST(Shorten, OfManyRanksTheOneThatFailedFirstIsTold) {
  const std::vector<EventRecord> events = {
      Event(1, "placed"),
      End("rank.exited", 1, 0, "exited with code 0"),
      End("rank.failed", 1, 2, "exited with code 3"),
      End("rank.failed", 1, 1, "lost its peer"),
      End("rank.exited", 1, 3, "ended by SIGTERM, after it was told to end"),
      End("rank.failed", 2, 1, "exited with code 4")};
  EXPECT_EQ(Texts(Shorten(events, 6)), Texts(events));
  EXPECT_THAT(Texts(Shorten(events, 5)), ::testing::Not(::testing::Contains("exited with code 0")));
  EXPECT_THAT(Texts(Shorten(events, 3)),
              ElementsAre("placed", "exited with code 3", "exited with code 4"));
}

TEST(Shorten, OfMuchElseTheNewestAreTold) {
  EXPECT_THAT(Texts(Shorten({Event(0, "a"), Event(0, "b"), Event(0, "c")}, 2)),
              ElementsAre("b", "c"));
}

TEST(ExplainNode, SaysItsStateReasonAndWhatRunsThere) {
  Cluster::NodeView node;
  node.record.name = "pc2";
  node.state = "reclaimed";
  node.reason = "its owner plays";
  EXPECT_EQ(ExplainNode(node), "reclaimed: its owner plays");
  node.attempts = {{12, 2}};
  EXPECT_EQ(ExplainNode(node), "reclaimed: its owner plays; its devices are used by 12.2");
}

}  // namespace
}  // namespace hpc::coordinator
