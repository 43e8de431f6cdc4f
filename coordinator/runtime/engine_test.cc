#include "coordinator/runtime/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "coordinator/core/values/event_kinds.h"
#include "coordinator/runtime/output_tracker.h"
#include "coordinator/runtime/testing/engine_test_fixture.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::EngineRig;
using testing::EngineTest;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeProgram;
using testing::OneNode;
using ::testing::Pair;
using testing::RecordingLink;
using testing::RecordingWatcher;
using ::testing::SizeIs;

constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;

TEST_F(EngineTest, ASubmissionIsAnsweredByFlushAndStoredThen) {
  rig_.Connect("pc1", &link_);
  Submit();
  EXPECT_THAT(ids_, IsEmpty());
  EXPECT_THAT(rig_.store->GetRunRecord(1), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_THAT(ids_, ElementsAre(1));
  EXPECT_OK(rig_.store->GetRunRecord(1));
}

TEST_F(EngineTest, ARefusedSubmissionIsAnsweredInItsTurnAndStoresNothing) {
  rig_.Connect("pc1", &link_);
  Submit("", 5);
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_THAT(errors_, ElementsAre(StatusIs(kPrecondition, _)));
  EXPECT_THAT(*rig_.reader->ListRuns({}), IsEmpty());
}

TEST_F(EngineTest, TheSameRequestIdIsOneRunWithinABatchAndAfterIt) {
  rig_.Connect("pc1", &link_);
  Submit("abc");
  Submit("abc");
  EXPECT_OK(rig_.engine->Flush());
  Submit("abc");
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_THAT(ids_, ElementsAre(1, 1, 1));
  EXPECT_THAT(*rig_.reader->ListRuns({}), SizeIs(1));
}

TEST_F(EngineTest, TheProgramGoesToTheNodeWithThePrepare) {
  rig_.Connect("pc1", &link_);
  rig_.SubmitOk();
  const auto* prepare = link_.Find<protocol::Prepare>();
  ASSERT_NE(prepare, nullptr);
  EXPECT_EQ(prepare->run_name, "digits");
  EXPECT_THAT(prepare->command, ElementsAre("true"));
}

TEST_F(EngineTest, AfterARestartTheProgramComesFromTheStore) {
  rig_.Connect("pc1", &link_);
  rig_.SubmitOk();
  const RunId second = rig_.SubmitOk();
  rig_.Restart();
  RecordingLink pc1, pc2;
  rig_.Connect("pc1", &pc1);
  ASSERT_NE(pc1.Find<protocol::Prepare>(), nullptr);
  EXPECT_EQ(pc1.Find<protocol::Prepare>()->ref.ToString(), "1.2");
  EXPECT_THAT(pc1.Find<protocol::Prepare>()->command, ElementsAre("true"));
  rig_.Connect("pc2", &pc2);
  ASSERT_NE(pc2.Find<protocol::Prepare>(), nullptr);
  EXPECT_EQ(pc2.Find<protocol::Prepare>()->ref.run, second);
  EXPECT_THAT(pc2.Find<protocol::Prepare>()->command, ElementsAre("true"));
}

TEST_F(EngineTest, AHelloIsWelcomedOnceItIsStored) {
  EXPECT_OK(rig_.engine->OnHello(testing::HelloOf("pc1"), &link_));
  EXPECT_FALSE(link_.welcomed);
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_TRUE(link_.welcomed);
}

TEST_F(EngineTest, ANewerConnectionOfTheSameWorkerClosesTheOlder) {
  rig_.Connect("pc1", &link_);
  RecordingLink again;
  rig_.Connect("pc1", &again);
  ASSERT_TRUE(link_.closed.has_value());
  EXPECT_FALSE(again.closed.has_value());
}

TEST_F(EngineTest, ASessionThatIsNotConnectedIsRefused) {
  EXPECT_THAT(rig_.engine->OnReport({"pc1", 7}, protocol::Heartbeat{}),
              StatusIs(kPrecondition, HasSubstr("pc1")));
  const Session session = rig_.Connect("pc1", &link_);
  EXPECT_OK(rig_.engine->OnReport(session, protocol::Heartbeat{}));
  EXPECT_THAT(rig_.engine->OnReport({"pc1", 8}, protocol::Heartbeat{}), StatusIs(kPrecondition, _));
}

TEST_F(EngineTest, AReportOfAReplacedAttemptIsAnsweredWithForget) {
  const Session session = rig_.Connect("pc1", &link_);
  EXPECT_OK(rig_.engine->OnReport(session, protocol::AttemptReturned{{9, 9}, {}}));
  EXPECT_OK(rig_.engine->OnLog(session, {{9, 8}, 0, false}, 0, "x"));
  EXPECT_OK(rig_.engine->Flush());
  rig_.clock.Advance(absl::Milliseconds(20));
  EXPECT_OK(rig_.engine->Flush());
  ASSERT_THAT(link_.commands, SizeIs(2));
  EXPECT_EQ(std::get<protocol::Forget>(link_.commands[0]).ref, (AttemptRef{9, 9}));
  EXPECT_EQ(std::get<protocol::Forget>(link_.commands[1]).ref, (AttemptRef{9, 8}));
}

TEST_F(EngineTest, OutputIsAcknowledgedAtMostEveryFiftyMilliseconds) {
  const Session session = rig_.Connect("pc1", &link_);
  const protocol::StreamId out{rig_.RunOn(session, &link_), 0, false};
  rig_.clock.Advance(absl::Seconds(1));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_OK(rig_.engine->OnLog(session, out, 0, "one"));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(rig_.engine->NextDeadline(), rig_.clock.Get().mono + absl::Milliseconds(20));
  rig_.clock.Advance(absl::Milliseconds(20));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(link_.log_acks[out], 3);

  EXPECT_OK(rig_.engine->OnLog(session, out, 3, "two"));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(link_.log_acks[out], 3);
  EXPECT_EQ(rig_.engine->NextDeadline(), rig_.clock.Get().mono + absl::Milliseconds(50));
  rig_.clock.Advance(absl::Milliseconds(50));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(link_.log_acks[out], 6);
}

TEST_F(EngineTest, OnlyOfARunThatIsOverTheEndOfAStreamIsNotPutOff) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  const protocol::StreamId out{ref, 0, false}, err{ref, 0, true};
  const auto stored = [&] { return rig_.reader->GetRun(ref.run)->log_streams; };
  EXPECT_OK(rig_.engine->OnLog(session, out, 0, "one"));
  EXPECT_OK(rig_.engine->OnLogEnd(session, out, 0));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_THAT(stored(), IsEmpty());
  rig_.Finish(session, ref);
  EXPECT_THAT(stored(), SizeIs(1));
  EXPECT_OK(rig_.engine->OnLog(session, err, 0, "two"));
  EXPECT_OK(rig_.engine->OnLogEnd(session, err, 0));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_THAT(stored(), SizeIs(2));
}

TEST_F(EngineTest, ReportsThatNobodyWaitsForShareACommitWithWhatComesSoon) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);  // it has just said that its rank runs
  EXPECT_EQ(rig_.StateOf(ref.run), RunState::kStarting);
  EXPECT_EQ(rig_.engine->NextDeadline(), rig_.clock.Get().mono + absl::Milliseconds(20));
  rig_.clock.Advance(absl::Milliseconds(19));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(rig_.StateOf(ref.run), RunState::kStarting);
  rig_.clock.Advance(absl::Milliseconds(1));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(rig_.StateOf(ref.run), RunState::kRunning);
}

TEST_F(EngineTest, ProgressIsToldWithReportsThatAreStillToBeWritten) {
  RecordingWatcher watcher;
  const Session session = rig_.Connect("pc1", &link_);
  rig_.engine->WatchRun(1, &watcher);
  rig_.clock.Advance(absl::Seconds(3));  // progress is due
  rig_.RunOn(session, &link_);
  rig_.clock.Advance(absl::Milliseconds(19));
  EXPECT_OK(rig_.engine->Flush());
  const int before = watcher.progress_pokes;
  EXPECT_EQ(rig_.engine->NextDeadline(), rig_.clock.Get().mono + absl::Milliseconds(1));
  rig_.clock.Advance(absl::Seconds(1));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(watcher.progress_pokes, before + 1);
}

TEST_F(EngineTest, WhatSomebodyWaitsForTakesReportsAlong) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  bool answered = false;
  rig_.engine->AfterCommit([&] { answered = true; });
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_TRUE(answered);
  EXPECT_EQ(rig_.StateOf(ref.run), RunState::kRunning);
}

TEST_F(EngineTest, WhatIsNoReportOfARunIsWrittenAtOnce) {
  rig_.engine->Note({event::kSecurityRefused, "a stranger", Severity::kWarning});
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_THAT(*rig_.reader->ListEvents({}), SizeIs(1));
}

TEST_F(EngineTest, NothingWaitsOnAtTheEnd) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  rig_.engine->Shutdown(absl::UnavailableError("the coordinator stops"));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(rig_.StateOf(ref.run), RunState::kRunning);
}

TEST_F(EngineTest, ANodeIsToldToForgetARunTwentyMillisecondsAfterItsEnd) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  EXPECT_OK(rig_.engine->OnLogEnd(session, {ref, 0, false}, 0));
  rig_.Finish(session, ref);
  EXPECT_EQ(rig_.StateOf(ref.run), RunState::kSucceeded);
  EXPECT_EQ(link_.Find<protocol::Forget>(), nullptr);
  EXPECT_THAT(link_.log_acks, IsEmpty());
  EXPECT_EQ(rig_.engine->NextDeadline(), rig_.clock.Get().mono + absl::Milliseconds(20));
  rig_.clock.Advance(absl::Milliseconds(20));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_NE(link_.Find<protocol::Forget>(), nullptr);
  EXPECT_THAT(link_.log_acks, SizeIs(1));
}

TEST_F(EngineTest, ANodeIsToldToForgetARunWithTheNextOne) {
  const Session session = rig_.Connect("pc1", &link_);
  rig_.Finish(session, rig_.RunOn(session, &link_));
  rig_.SubmitOk();
  ASSERT_GE(link_.commands.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<protocol::Prepare>(link_.commands.rbegin()[1]));
  EXPECT_TRUE(std::holds_alternative<protocol::Forget>(link_.commands.back()));
}

TEST_F(EngineTest, OutputWithAGapClosesTheConnectionAndNothingElse) {
  const Session session = rig_.Connect("pc1", &link_);
  const protocol::StreamId out{rig_.RunOn(session, &link_), 0, false};
  EXPECT_THAT(rig_.engine->OnLog(session, out, 100, "x"),
              StatusIs(absl::StatusCode::kOutOfRange, _));
  EXPECT_OK(rig_.engine->Flush());
}

TEST_F(EngineTest, OutputOfARankThatRunsElsewhereIsRefused) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  EXPECT_THAT(rig_.engine->OnLog(session, {ref, 5, false}, 0, "x"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rank 5")));
}

TEST_F(EngineTest, MetricsThatComeAgainAreStoredOnceAndAcknowledgedAgain) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  const MetricOffset offset{ref, 0, 40};
  const std::vector<MetricPoint> points = {{ref, 0, "loss", 1, 0.5, rig_.clock.Get().wall}};
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(rig_.engine->OnMetrics(session, {.offset = offset, .points = points}));
    rig_.clock.Advance(absl::Milliseconds(50));
    EXPECT_OK(rig_.engine->Flush());
  }
  EXPECT_THAT(link_.metric_acks, ElementsAre(offset, offset));
  EXPECT_THAT(*rig_.reader->ListMetrics({.run = ref.run}), SizeIs(1));
}

TEST_F(EngineTest, TheLastMetricsAreStoredWithTheEndOfTheRun) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  const MetricPoint point{ref, 0, "loss", 1, 0.5, rig_.clock.Get().wall};
  EXPECT_OK(rig_.engine->OnMetrics(session, {.offset = {ref, 0, 20}, .points = {point}}));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_OK(
      rig_.engine->OnMetrics(session, {.offset = {ref, 0, 40}, .points = {point}, .ended = true}));
  rig_.Finish(session, ref);
  EXPECT_EQ(rig_.StateOf(ref.run), RunState::kSucceeded);
  EXPECT_THAT(*rig_.reader->ListMetrics({.run = ref.run}), SizeIs(2));
}

TEST_F(EngineTest, WhatIsWrongWithMetricsIsAnEventOfTheRun) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  const auto events = [&] {
    std::vector<std::string> texts;
    const auto all = rig_.reader->ListEvents({.run = ref.run});
    for (const EventRecord& event : *all) {
      if (event.kind != "rank.metrics") continue;
      EXPECT_EQ(event.node, "pc1");
      EXPECT_EQ(event.rank, 0);
      EXPECT_EQ(event.severity, Severity::kWarning);
      texts.push_back(event.text);
    }
    return texts;
  };
  EXPECT_OK(rig_.engine->OnMetrics(session, {.offset = {ref, 0, 9}, .remarks = {"line 3 is"}}));
  // A worker that reconnects reports again how it ended.
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(rig_.engine->OnMetrics(
        session, {.offset = {ref, 0, 9}, .remarks = {"7 lines are"}, .ended = true}));
  }
  rig_.clock.Advance(absl::Milliseconds(50));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_THAT(events(), ElementsAre("line 3 is", "7 lines are"));
}

TEST_F(EngineTest, AWorkerThatReconnectsAfterARestartIsToldWhereToGoOn) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  const protocol::StreamId out{ref, 0, false}, err{ref, 0, true};
  EXPECT_OK(rig_.engine->OnLog(session, out, 0, "12345"));
  EXPECT_OK(rig_.engine->OnMetrics(session, {.offset = {ref, 0, 40}}));
  rig_.clock.Advance(absl::Seconds(1));
  EXPECT_OK(rig_.engine->Flush());

  rig_.Restart();
  RecordingLink again;
  protocol::Hello hello = testing::HelloOf("pc1");
  hello.attempts = {{.ref = ref, .started = true, .ranks = {{.rank = 0, .pid = 100}}}};
  EXPECT_OK(rig_.engine->OnHello(hello, &again));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(again.log_acks, (std::map<protocol::StreamId, int64_t>{{out, 5}, {err, 0}}));
  EXPECT_THAT(again.metric_acks, ElementsAre(MetricOffset{ref, 0, 40}));
}

TEST_F(EngineTest, AWorkerIsNotToldHowMuchAnotherOneHasSent) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  const protocol::StreamId out{ref, 0, false}, err{ref, 0, true};
  EXPECT_OK(rig_.engine->OnLog(session, out, 0, "12345"));
  EXPECT_OK(rig_.engine->OnMetrics(session, {.offset = {ref, 0, 40}}));
  rig_.clock.Advance(absl::Seconds(1));
  EXPECT_OK(rig_.engine->Flush());

  RecordingLink curious;
  protocol::Hello hello = testing::HelloOf("pc2");
  hello.attempts = {{.ref = ref, .started = true, .ranks = {{.rank = 0, .pid = 100}}}};
  EXPECT_OK(rig_.engine->OnHello(hello, &curious));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(curious.log_acks, (std::map<protocol::StreamId, int64_t>{{out, 0}, {err, 0}}));
  EXPECT_THAT(curious.metric_acks, ElementsAre(MetricOffset{ref, 0, 0}));
}

TEST_F(EngineTest, OutputThatANodeCouldNotKeepIsToldOnce) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  EXPECT_OK(rig_.engine->OnLogEnd(session, {ref, 0, false}, 0));
  for (int i = 0; i < 2; ++i) EXPECT_OK(rig_.engine->OnLogEnd(session, {ref, 0, true}, 300'000));
  rig_.clock.Advance(absl::Seconds(1));
  EXPECT_OK(rig_.engine->Flush());
  std::vector<std::string> told;
  const auto all = rig_.reader->ListEvents({.run = ref.run});
  for (const EventRecord& event : *all) {
    if (event.kind == event::kRankOutput) told.push_back(event.text);
  }
  EXPECT_THAT(told, ElementsAre(HasSubstr("293 KiB of the stderr of rank 0 on pc1 is lost")));
}

TEST_F(EngineTest, ARunIsCompleteOnceItsStreamsHaveEnded) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  rig_.Finish(session, ref);
  EXPECT_EQ(rig_.StateOf(ref.run), RunState::kSucceeded);
  EXPECT_FALSE(rig_.engine->OutputComplete(ref.run));
  EXPECT_OK(rig_.engine->OnLogEnd(session, {ref, 0, false}, 0));
  EXPECT_OK(rig_.engine->OnLogEnd(session, {ref, 0, true}, 0));
  EXPECT_OK(rig_.engine->OnMetrics(session, {.offset = {ref, 0, 0}, .ended = true}));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_TRUE(rig_.engine->OutputComplete(ref.run));
}

TEST_F(EngineTest, OutputThatNeverComesIsGivenUpAfterTenSeconds) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  rig_.Finish(session, ref);
  RecordingWatcher watcher;
  rig_.engine->WatchRun(ref.run, &watcher);
  rig_.clock.Advance(absl::Milliseconds(9999));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_FALSE(rig_.engine->OutputComplete(ref.run));
  EXPECT_LE(rig_.engine->NextDeadline(), rig_.clock.Get().mono + absl::Milliseconds(1));
  rig_.clock.Advance(absl::Milliseconds(1));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_TRUE(rig_.engine->OutputComplete(ref.run));
  EXPECT_EQ(watcher.pokes, 1);
}

TEST_F(EngineTest, WatchersArePokedAfterTheCommit) {
  rig_.Connect("pc1", &link_);
  RecordingWatcher of_run, of_events, of_other;
  rig_.engine->WatchRun(1, &of_run);
  rig_.engine->WatchRun(2, &of_other);
  rig_.engine->WatchEvents(&of_events);
  Submit();
  EXPECT_EQ(of_run.pokes, 0);
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(of_run.pokes, 1);
  EXPECT_EQ(of_events.pokes, 1);
  EXPECT_EQ(of_other.pokes, 0);
  rig_.engine->Unwatch(&of_run);
  rig_.engine->Cancel(1, {"ada"}, [](const absl::Status& status) { EXPECT_OK(status); });
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(of_run.pokes, 1);
  EXPECT_EQ(of_events.pokes, 2);
}

TEST_F(EngineTest, ProgressIsLookedAtAtMostTwiceASecond) {
  rig_.Connect("pc1", &link_);
  RecordingWatcher watcher;
  rig_.engine->WatchRun(1, &watcher);
  rig_.clock.Advance(absl::Seconds(1));
  Submit();
  EXPECT_OK(rig_.engine->Flush());
  Submit();
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(watcher.progress_pokes, 1);
  EXPECT_LE(rig_.engine->NextDeadline(), rig_.clock.Get().mono + absl::Milliseconds(500));
  rig_.clock.Advance(absl::Milliseconds(500));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(watcher.progress_pokes, 2);
}

TEST_F(EngineTest, ProgressThatCountsDownIsLookedAtAgainWhereNothingHappens) {
  RecordingWatcher watcher;
  rig_.engine->WatchRun(1, &watcher);
  Submit();
  EXPECT_OK(rig_.engine->Flush());
  const int before = watcher.progress_pokes;
  EXPECT_LE(rig_.engine->NextDeadline(), rig_.clock.Get().mono + absl::Seconds(2));
  rig_.clock.Advance(absl::Seconds(2));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(watcher.progress_pokes, before + 1);
  rig_.clock.Advance(absl::Seconds(2));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(watcher.progress_pokes, before + 2);
}

TEST_F(EngineTest, ReadsPutBehindTheCommitSeeWhatIsOnDisk) {
  rig_.Connect("pc1", &link_);
  Submit();
  bool read = false;
  rig_.engine->AfterCommit([&] {
    read = true;
    EXPECT_OK(rig_.store->GetRunRecord(1));
  });
  EXPECT_FALSE(read);
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_TRUE(read);
}

TEST_F(EngineTest, ARunAfterOneThatHasJustFailedIsRefused) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  EXPECT_OK(rig_.engine->OnReport(session, protocol::RankEnded{ref, 0, {.exit_code = 3}, {}}));
  EXPECT_OK(rig_.engine->OnReport(session, protocol::AttemptReturned{ref, {}}));
  RunRequest after = OneNode();
  after.after = ref.run;
  absl::Status answer;
  rig_.engine->Submit(after, MakeProgram(),
                      [&](const absl::StatusOr<RunId>& run) { answer = run.status(); });
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(rig_.StateOf(ref.run), RunState::kFailed);
  EXPECT_THAT(answer, StatusIs(kPrecondition, HasSubstr("run 1 ended as failed")));
}

TEST_F(EngineTest, AHookOfTheCoordinatorsWakesANodeThatKnowsNothingOfIt) {
  const auto wake = [this] {
    absl::Status answer;
    rig_.engine->Wake("pc1", "ada", [&](const absl::Status& status) { answer = status; });
    EXPECT_OK(rig_.engine->Flush());
    return answer;
  };
  const Session session = rig_.Connect("pc1", &link_);
  EXPECT_OK(rig_.engine->OnReport(session, protocol::Leaving{"shutdown"}));
  EXPECT_THAT(wake(), StatusIs(kPrecondition, _));

  rig_.wake_sender.any_node = true;
  RecordingLink again;
  rig_.Connect("pc1", &again);
  EXPECT_OK(rig_.engine->OnReport(session, protocol::Leaving{"shutdown"}));
  EXPECT_OK(wake());
  EXPECT_THAT(rig_.wake_sender.woken, ElementsAre("pc1"));
}

TEST_F(EngineTest, ANodeWithOutputOfADamagedLogIsWelcomeAndSendsWhatIsLost) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  const protocol::StreamId out{ref, 0, false}, err{ref, 0, true};
  EXPECT_OK(rig_.engine->OnLog(session, out, 0, "12345"));
  EXPECT_OK(rig_.engine->OnLogEnd(session, out, 0));
  EXPECT_OK(rig_.engine->OnLogEnd(session, err, 0));
  EXPECT_OK(rig_.engine->OnMetrics(session, {.offset = {ref, 0, 0}, .ended = true}));
  rig_.Finish(session, ref);
  ASSERT_THAT(rig_.files.paths(), ElementsAre("/logs/1/00000000000000000000.zst"));

  rig_.files.Damage(rig_.files.paths()[0], 0);
  rig_.Restart();
  RecordingLink again;
  protocol::Hello hello = testing::HelloOf("pc1");
  hello.attempts = {{.ref = ref, .started = true, .returned = true, .ranks = {{.rank = 0}}}};
  EXPECT_OK(rig_.engine->OnHello(hello, &again));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_TRUE(again.welcomed);
  EXPECT_EQ(again.log_acks[out], 0);
  EXPECT_OK(rig_.engine->OnLog({"pc1", 7}, out, 0, "12345"));
  rig_.clock.Advance(absl::Seconds(1));
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(again.log_acks[out], 5);
  const std::vector<LogRecord> records = *rig_.logs->Read(ref.run, 0, 100);
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(records[0].missing, HasSubstr("damaged"));
  EXPECT_EQ(records[1].data, "12345");
}

TEST_F(EngineTest, SecretsReachTheNodeButNotTheStore) {
  rig_.Connect("pc1", &link_);
  RunProgram program = MakeProgram();
  program.env = {{"A", "1"}, {"HF_TOKEN", "hf_123"}};
  rig_.engine->Submit(OneNode(), program, [](const absl::StatusOr<RunId>&) {});
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_THAT(link_.Find<protocol::Prepare>()->env,
              ElementsAre(Pair("A", "1"), Pair("HF_TOKEN", "hf_123")));
  EXPECT_THAT(rig_.store->GetProgram(1)->env,
              ElementsAre(Pair("A", "1"), Pair("HF_TOKEN", "(hidden)")));
}

TEST_F(EngineTest, ARunWhoseSecretIsLostIsRefusedAndSaysWhy) {
  RunProgram program = MakeProgram();
  program.env = {{"HF_TOKEN", "hf_123"}};
  program.unstored_env = {"HF_TOKEN"};
  const auto ignore = [](const absl::Status&) {};
  rig_.Connect("pc1", &link_);
  rig_.engine->Reclaim("pc1", {}, ignore);
  rig_.engine->Submit(OneNode(), program, [](const absl::StatusOr<RunId>&) {});
  EXPECT_OK(rig_.engine->Flush());
  rig_.Restart();
  RecordingLink link;
  rig_.Connect("pc1", &link);
  rig_.engine->Lend("pc1", "ada", ignore);
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_OK(rig_.engine->Flush());
  EXPECT_EQ(link.Find<protocol::Prepare>(), nullptr);
  const RunRecord run = *rig_.store->GetRunRecord(1);
  EXPECT_EQ(run.state, RunState::kFailed);
  EXPECT_THAT(run.reason, HasSubstr("does not know the value of HF_TOKEN any more"));
}

}  // namespace
}  // namespace hpc::coordinator
