#include "coordinator/core/policy/retry.h"

#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

class RetryTest : public ::testing::Test {
 protected:
  RetryDecision After(AttemptOutcome outcome, absl::Duration ran_for = absl::ZeroDuration()) {
    Ending ending;
    ending.outcome = outcome;
    ending.reason = "it ended";
    ending.exit_code = 3;
    ending.ran_for = ran_for;
    return DecideRetry(run, ending, options);
  }
  RunRecord run;
  ClusterOptions options;
};

TEST_F(RetryTest, ProgramsOwnFailuresUseUpTheRestarts) {
  run.request.max_restarts = 2;
  RetryDecision decision = After(AttemptOutcome::kProgramFailed);
  EXPECT_EQ(decision.state, RunState::kQueued);
  EXPECT_EQ(decision.failures, 1);
  EXPECT_EQ(decision.delay, absl::Seconds(1));
  EXPECT_EQ(decision.reason, "it ended; restart 1 of 2");
  run.failures = 1;
  EXPECT_EQ(After(AttemptOutcome::kProgramFailed).delay, absl::Seconds(2));
  run.failures = 2;
  decision = After(AttemptOutcome::kProgramFailed);
  EXPECT_EQ(decision.state, RunState::kFailed);
  EXPECT_EQ(decision.exit_code, 3);
  EXPECT_EQ(decision.reason, "it ended; no restart is left of 2");
}

TEST_F(RetryTest, AnAttemptThatRanForAMinuteEndsARowHoweverItEnded) {
  run.losses = 5;
  EXPECT_EQ(After(AttemptOutcome::kReclaimed).losses, 5);
  EXPECT_EQ(After(AttemptOutcome::kReclaimed, absl::Minutes(1)).losses, 0);
  EXPECT_EQ(After(AttemptOutcome::kGrown, absl::Minutes(1)).losses, 0);
  EXPECT_EQ(After(AttemptOutcome::kNodeLost, absl::Minutes(1)).losses, 1);
}

TEST_F(RetryTest, AnExitThatAsksForARestartCostsNothing) {
  run.request.retry_exits = {75, 3};
  run.failures = 0;
  RetryDecision decision = After(AttemptOutcome::kProgramFailed);
  EXPECT_EQ(decision.state, RunState::kQueued);
  EXPECT_EQ(decision.failures, 0);
  EXPECT_EQ(decision.retries, 1);
  EXPECT_EQ(decision.reason,
            "it ended; code 3 asks for a restart (--retry-exit), which costs nothing");
  run.request.retry_exits = {75};
  EXPECT_EQ(After(AttemptOutcome::kProgramFailed).state, RunState::kFailed);
}

TEST_F(RetryTest, RestartsThatAreAskedForInARowTakeLongerAndLonger) {
  run.request.retry_exits = {3};
  EXPECT_EQ(After(AttemptOutcome::kProgramFailed).delay, absl::Seconds(1));
  run.retries = 3;
  EXPECT_EQ(After(AttemptOutcome::kProgramFailed).delay, absl::Seconds(8));
  run.retries = 1000;
  EXPECT_EQ(After(AttemptOutcome::kProgramFailed).delay, absl::Minutes(1));
  const RetryDecision rested = After(AttemptOutcome::kProgramFailed, absl::Minutes(1));
  EXPECT_EQ(rested.delay, absl::Seconds(1));
  EXPECT_EQ(rested.retries, 1);
}

TEST_F(RetryTest, WhatTheProgramAsksForIsNoExcuseForACancelOrALoss) {
  run.request.retry_exits = {3};
  EXPECT_EQ(After(AttemptOutcome::kNodeLost).losses, 1);
  EXPECT_EQ(After(AttemptOutcome::kNodeLost).retries, 0);
  run.cancel_requested = true;
  EXPECT_EQ(After(AttemptOutcome::kProgramFailed).state, RunState::kCancelled);
}

TEST_F(RetryTest, BackOffIsAtMostAMinuteOrSixtyTimesTheFirstOne) {
  run.request.max_restarts = 1000;
  run.failures = 500;
  EXPECT_EQ(After(AttemptOutcome::kProgramFailed).delay, absl::Minutes(1));
  options.restart_backoff = absl::Milliseconds(50);
  EXPECT_EQ(After(AttemptOutcome::kProgramFailed).delay, absl::Seconds(3));
}

TEST_F(RetryTest, ReclaimCostsNothing) {
  run.failures = 1;
  run.losses = 4;
  const RetryDecision decision = After(AttemptOutcome::kReclaimed);
  EXPECT_EQ(decision.state, RunState::kQueued);
  EXPECT_EQ(decision.failures, 1);
  EXPECT_EQ(decision.losses, 4);
  EXPECT_EQ(decision.delay, absl::ZeroDuration());
}

TEST_F(RetryTest, FirstLossGoesOnAtOnceAndFurtherOnesAfterAWhile) {
  EXPECT_EQ(After(AttemptOutcome::kNodeLost).delay, absl::ZeroDuration());
  EXPECT_EQ(After(AttemptOutcome::kStartFailed).delay, absl::Seconds(1));
  run.losses = 1;
  EXPECT_EQ(After(AttemptOutcome::kNodeLost).delay, absl::Seconds(2));
}

TEST_F(RetryTest, LossesInARowAreLimitedAndForgottenAfterARealStart) {
  run.losses = 10;
  EXPECT_EQ(After(AttemptOutcome::kNodeLost, absl::Seconds(59)).state, RunState::kFailed);
  const RetryDecision decision = After(AttemptOutcome::kNodeLost, absl::Minutes(1));
  EXPECT_EQ(decision.state, RunState::kQueued);
  EXPECT_EQ(decision.losses, 1);
}

TEST_F(RetryTest, EndsHaveTheirOwnStatesAndCodes) {
  EXPECT_EQ(After(AttemptOutcome::kSucceeded).state, RunState::kSucceeded);
  EXPECT_EQ(After(AttemptOutcome::kCancelled).exit_code, 122);
  EXPECT_EQ(After(AttemptOutcome::kTimedOut).exit_code, 124);
  EXPECT_EQ(After(AttemptOutcome::kRefused).exit_code, 3);
  run.cancel_requested = true;
  EXPECT_EQ(After(AttemptOutcome::kNodeLost).state, RunState::kCancelled);
  EXPECT_EQ(After(AttemptOutcome::kSucceeded).state, RunState::kSucceeded);
}

}  // namespace
}  // namespace hpc::coordinator
