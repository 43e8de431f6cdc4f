#include "client/cli/show/moves.h"

#include <gtest/gtest.h>

#include "client/cli/show/open_line.h"

namespace hpc::client {
namespace {

const MonoTime kNow = {absl::Hours(24)};

v1::RunUpdate Update(v1::RunState state, const std::string& kind, int attempt,
                     const std::string& text, int queue_position = 0) {
  v1::RunUpdate update;
  update.mutable_run()->set_id(7);
  update.mutable_run()->set_state(state);
  update.mutable_run()->set_queue_position(queue_position);
  update.set_event_kind(kind);
  update.set_event_attempt(attempt);
  update.set_event_text(text);
  return update;
}

TEST(MovesTest, WhatOthersDoToAQueuedRunIsTold) {
  Moves moves(/*waits=*/true);
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_QUEUED, "run.held", 0, "held by bert")),
            "run 7: held by bert");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_QUEUED, "run.changed", 0, "-N 2 -> 1 by bert")),
            "run 7: -N 2 -> 1 by bert");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_QUEUED, "run.released", 0, "released by bert")),
            "run 7: released by bert");
}

TEST(MovesTest, ARunThatGoesOnAtOnceIsToldInOneLine) {
  Moves moves(/*waits=*/false);
  EXPECT_EQ(
      moves.Tell(kNow, Update(v1::RUN_STATE_STARTING, "run.requeued", 1, "pc2 was reclaimed")), "");
  EXPECT_EQ(
      moves.Tell(kNow, Update(v1::RUN_STATE_STARTING, "run.placed", 2, "pc1 and pc3: keeps pc1")),
      "run 7: attempt 1 ended: pc2 was reclaimed; attempt 2 starts on pc1 and pc3: keeps pc1");
}

TEST(MovesTest, ARunThatMustWaitIsToldWithWhatItWaitsForAndAgainWhenItGoesOn) {
  Moves moves(/*waits=*/false);
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_QUEUED, "run.requeued", 1, "pc2 was lost", 1)),
            "");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_QUEUED, "run.waiting", 0, "needs 2 nodes", 1)),
            "run 7: attempt 1 ended: pc2 was lost; needs 2 nodes");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_STARTING, "run.placed", 2, "pc1 and pc3")),
            "run 7: attempt 2 starts on pc1 and pc3");
}

TEST(MovesTest, ARestartThatMustRestFirstIsToldAtOnce) {
  Moves moves(/*waits=*/false);
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_QUEUED, "run.requeued", 1, "rank 0 failed")),
            "run 7: attempt 1 ended: rank 0 failed");
}

TEST(MovesTest, WhatRanksWaitForIsToldWhereNoProgressLineShowsIt) {
  const v1::RunUpdate late =
      Update(v1::RUN_STATE_RUNNING, "run.rendezvous-late", 1, "waits for rank 3");
  EXPECT_EQ(Moves(/*waits=*/true).Tell(kNow, late), "run 7: waits for rank 3");
  EXPECT_EQ(Moves(/*waits=*/false).Tell(kNow, late), "");
}

TEST(MovesTest, LostOutputIsToldAlsoWhenTheRunIsOver) {
  Moves moves(/*waits=*/false);
  moves.Tell(kNow, Update(v1::RUN_STATE_RUNNING, "", 0, ""));
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_SUCCEEDED, "rank.output", 1, "293 KiB lost")),
            "run 7: 293 KiB lost");
}

TEST(MovesTest, TheFirstPlacementNeedsNoWord) {
  Moves moves(/*waits=*/false);
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_QUEUED, "run.waiting", 0, "needs 2 nodes", 1)),
            "");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_STARTING, "run.placed", 1, "pc1")), "");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_RUNNING, "", 0, "")), "");
}

TEST(MovesTest, WhatARunWaitsForIsToldWhereNoProgressLineShowsIt) {
  EXPECT_EQ(Moves(/*waits=*/true)
                .Tell(kNow, Update(v1::RUN_STATE_QUEUED, "run.waiting", 0, "needs 2 nodes", 1)),
            "run 7 waits: needs 2 nodes");
}

TEST(MovesTest, NothingIsToldOfARunThatWasOverBefore) {
  Moves moves(/*waits=*/true);
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_FAILED, "run.waiting", 0, "needs 2 nodes")), "");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_FAILED, "run.requeued", 1, "pc2 was lost")), "");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_FAILED, "run.placed", 2, "pc1")), "");
}

TEST(MovesTest, WhatHappenedBeforeTheRunWasFollowedIsNotTold) {
  v1::RunUpdate update = Update(v1::RUN_STATE_RUNNING, "run.placed", 2, "pc1");
  update.set_event_age_us(3'600'000'000);
  Moves moves(/*waits=*/true);
  EXPECT_EQ(moves.Tell(kNow, update), "");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_STARTING, "run.placed", 3, "pc2")),
            "run 7: attempt 3 starts on pc2");
}

TEST(MovesTest, WhatARunWaitsForIsToldToWhoFollowsItLater) {
  v1::RunUpdate update = Update(v1::RUN_STATE_QUEUED, "run.queued", 0, "queued");
  update.set_event_age_us(3'600'000'000);
  update.mutable_run()->set_reason("needs 2 nodes");
  Moves moves(/*waits=*/true), on_terminal(/*waits=*/false);
  EXPECT_EQ(moves.Tell(kNow, update), "run 7 waits: needs 2 nodes");
  EXPECT_EQ(moves.Tell(kNow, update), "");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_QUEUED, "run.waiting", 0, "needs 2 nodes", 1)),
            "");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_QUEUED, "run.waiting", 0, "needs 1 node", 1)),
            "run 7 waits: needs 1 node");
  EXPECT_EQ(on_terminal.Tell(kNow, update), "");
}

TEST(MovesTest, WhatARunHasWaitedForIsNotToldWhenItHasStarted) {
  EXPECT_EQ(Moves(/*waits=*/true)
                .Tell(kNow, Update(v1::RUN_STATE_RUNNING, "run.waiting", 0, "needs 2 nodes")),
            "");
}

TEST(MovesTest, ARunThatEndsWhileItIsFollowedIsToldAllTheWay) {
  Moves moves(/*waits=*/false);
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_RUNNING, "", 0, "")), "");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_SUCCEEDED, "run.requeued", 1, "pc2 was lost")),
            "");
  EXPECT_EQ(moves.Tell(kNow, Update(v1::RUN_STATE_SUCCEEDED, "run.placed", 2, "pc1")),
            "run 7: attempt 1 ended: pc2 was lost; attempt 2 starts on pc1");
}

TEST(MovesTest, AnEndThatTakesLongIsToldOnceWhereNoProgressLineShowsIt) {
  v1::RunUpdate stopping = Update(v1::RUN_STATE_STOPPING, "", 0, "");
  stopping.set_progress("waits for the devices of pc2, which is lost");
  Moves moves(/*waits=*/true), on_terminal(/*waits=*/false);
  for (Moves* quiet : {&moves, &on_terminal}) {
    EXPECT_EQ(quiet->Tell(kNow, stopping), "");
    EXPECT_EQ(quiet->Tell(kNow + absl::Seconds(1), stopping), "");
  }
  EXPECT_EQ(on_terminal.Tell(kNow + absl::Seconds(2), stopping), "");
  EXPECT_EQ(moves.Tell(kNow + absl::Seconds(2), stopping),
            "run 7 is being stopped: waits for the devices of pc2, which is lost");
  EXPECT_EQ(moves.Tell(kNow + absl::Seconds(3), stopping), "");
}

TEST(OpenLineTest, OurWordsBeginOnALineOfTheirOwn) {
  OpenLine line(/*shared=*/true);
  EXPECT_EQ(line.End(), "");
  line.Wrote(/*is_stderr=*/false, "half a");
  EXPECT_EQ(line.End(), "\n");
  EXPECT_EQ(line.End(), "");
  line.Wrote(false, "line\n");
  EXPECT_EQ(line.End(), "");
}

TEST(OpenLineTest, ALineElsewhereIsNotOurs) {
  OpenLine line(/*shared=*/false);
  line.Wrote(/*is_stderr=*/false, "half a");
  EXPECT_EQ(line.End(), "");
  line.Wrote(/*is_stderr=*/true, "half a");
  EXPECT_EQ(line.End(), "\n");
}

}  // namespace
}  // namespace hpc::client
