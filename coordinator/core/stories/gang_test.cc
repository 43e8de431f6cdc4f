// A gang starts together or not at all, and ends with its first failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "coordinator/core/testing/cluster_tester.h"

namespace hpc::coordinator::testing {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

TEST(GangTest, PreparesAllThenStartsAllThenSucceedsWhenEveryRankHasExitedZero) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  c.TakeEvents();

  const RunId run = c.Submit(Nodes(2));
  EXPECT_EQ(run, 1);
  EXPECT_EQ(c.state(run), RunState::kStarting);
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: prepare 1.1 rank 0+1/2", "pc2: prepare 1.1 rank 1+1/2"));

  ASSERT_OK(c.Prepared(run, "pc2"));
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
  ASSERT_OK(c.Prepared(run, "pc1"));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: start 1.1 10.0.0.pc1:29500", "pc2: start 1.1 10.0.0.pc1:29500"));

  ASSERT_OK(c.Started(run, "pc1"));
  EXPECT_EQ(c.state(run), RunState::kStarting);
  ASSERT_OK(c.Started(run, "pc2"));
  EXPECT_EQ(c.state(run), RunState::kRunning);

  c.Pass(absl::Seconds(3));
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  ASSERT_OK(c.Exit(run, 1, 0));
  EXPECT_EQ(c.state(run), RunState::kRunning) << "pc2 has not returned its device yet";
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_EQ(c.state(run), RunState::kSucceeded);
  EXPECT_EQ(c.record(run).exit_code, 0);
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kSucceeded);
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: forget 1.1", "pc2: forget 1.1"));
  EXPECT_THAT(c.TakeEvents(),
              ElementsAre("run.queued asks for 2 nodes",
                          "run.placed pc1 and pc2: the only nodes that are free",
                          "run.prepared pc1 and pc2 are prepared after 0 us; rendezvous at "
                          "10.0.0.pc1:29500 (the worker)",
                          "run.started 2 ranks on pc1 and pc2, 0 us after it was placed",
                          "rank.exited exited with code 0", "rank.exited exited with code 0",
                          "run.succeeded every rank exited 0 after 3 s; none of them came to the "
                          "rendezvous: unless they met in another way, 2 separate copies ran"));
}

TEST(GangTest, OfARankThatWasKilledIsSaidHowLongItHad) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  ASSERT_OK(c.Reclaim("pc1", std::nullopt, absl::Seconds(10)));
  c.Pass(absl::Seconds(10));
  ASSERT_OK(c.Exit(run, 0, {.signal = 9, .after_stop = true}));
  EXPECT_THAT(c.TakeEvents("rank.exited"),
              ElementsAre("rank.exited was killed by SIGKILL, 10 s after it was told to end"));
}

// A running gang on two nodes with one rank each.
class RunningGangTest : public ::testing::Test {
 protected:
  RunningGangTest() {
    c.Join({"pc1", "pc2", "pc3"});
    RunRequest request = Nodes(2);
    request.node_list = {"pc1", "pc2"};
    request.max_restarts = 1;
    run = c.Submit(request);
    c.Run(run);
    c.TakeMessages();
    c.TakeEvents();
  }

  ClusterTester c;
  RunId run;
};

TEST(GangTest, RefusalOfOneNodeRollsAllBackAndEndsTheRun) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  ASSERT_OK(c.Prepared(run, "pc1"));
  c.TakeMessages();
  ASSERT_OK(c.Prepared(run, "pc2", absl::NotFoundError("command train.sh: not found")));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: stop 1.1 within 30 s: pc2 cannot run it: command train.sh: not "
                          "found"));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_EQ(c.record(run).exit_code, 127);
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kRefused);
  EXPECT_EQ(c.record(run).reason, "pc2 cannot run it: command train.sh: not found");
}

TEST(GangTest, RefusalHasTheExitCodeOfItsKind) {
  const auto code_of = [](const absl::Status& status) {
    ClusterTester c;
    c.Join({"pc1"});
    const RunId run = c.Submit(Nodes(1));
    EXPECT_OK(c.Prepared(run, "pc1", status));
    EXPECT_EQ(c.state(run), RunState::kFailed);
    return c.record(run).exit_code;
  };
  EXPECT_EQ(code_of(absl::NotFoundError("")), 127);
  EXPECT_EQ(code_of(absl::PermissionDeniedError("")), 126);
  EXPECT_EQ(code_of(absl::FailedPreconditionError("")), 125);
  EXPECT_EQ(code_of(absl::InvalidArgumentError("")), 125);
}

TEST(GangTest, NodeThatCannotNowIsTriedAgainAfterABackOff) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  ASSERT_OK(c.Prepared(run, "pc1", absl::UnavailableError("disk full")));
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_EQ(c.record(run).losses, 1);
  EXPECT_EQ(c.Wait(run),
            "starts again in 1 s: pc1 cannot run it: disk full; not the program's fault: 1 of 10 "
            "such retries");
  c.Pass(absl::Milliseconds(999));
  EXPECT_EQ(c.record(run).attempts, 1);
  c.Pass(absl::Milliseconds(1));
  EXPECT_EQ(c.record(run).attempts, 2);
  ASSERT_OK(c.Prepared(run, "pc1", absl::UnavailableError("disk full")));
  c.Pass(absl::Milliseconds(1999));
  EXPECT_EQ(c.record(run).attempts, 2) << "the back-off doubles";
  c.Pass(absl::Milliseconds(1));
  EXPECT_EQ(c.record(run).attempts, 3);
}

TEST(GangTest, WorkGoesElsewhereForAWhileWhereANodeCannotPrepareIt) {
  ClusterTester c;
  c.Join({"pc1", "pc2", "pc3"});
  const RunId run = c.Submit(Nodes(1));
  ASSERT_THAT(c.nodes_of(run), ElementsAre("pc1"));
  ASSERT_OK(c.Prepared(run, "pc1", absl::UnavailableError("disk full")));
  EXPECT_EQ(c.View("pc1").reason,
            "could not prepare run 1: disk full; work goes elsewhere for another 5 min");
  EXPECT_THAT(c.nodes_of(c.Submit(Nodes(1))), ElementsAre("pc3")) << "pc2 is kept for run 1";
  c.Pass(absl::Seconds(1));
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc2"));
  const RunId last = c.Submit(Nodes(1));
  EXPECT_THAT(c.nodes_of(last), ElementsAre("pc1")) << "there is no other now";
  ASSERT_OK(c.Prepared(last, "pc1"));
  EXPECT_EQ(c.View("pc1").reason, "") << "it could";
}

TEST(GangTest, GivesUpWhenInfrastructureHasFailedTooOften) {
  ClusterOptions options;
  options.infrastructure_retries = 2;
  ClusterTester c(options);
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(c.state(run), RunState::kStarting);
    ASSERT_OK(c.Prepared(run, "pc1", absl::UnavailableError("disk full")));
    c.Pass(absl::Seconds(5));
  }
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_EQ(c.record(run).exit_code, 125);
  EXPECT_THAT(c.record(run).reason, HasSubstr("gave up after 3 attempts in a row"));
}

TEST(GangTest, NodeThatDoesNotAnswerThePreparationIsNamed) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  ASSERT_OK(c.Prepared(run, "pc1"));
  c.TakeMessages();
  c.Pass(absl::Seconds(20));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: stop 1.1 within 30 s: pc2 did not prepare it within 20 s",
                          "pc2: stop 1.1 within 30 s: pc2 did not prepare it within 20 s"));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kStartFailed);
}

// The node's disk may hang. The node then prepares nothing as long as that lasts, and is still
// heard.
TEST(GangTest, NodeThatDoesNotPrepareIsNotWaitedForAndWorkGoesElsewhere) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Join({"pc2"});
  c.Pass(absl::Seconds(20));
  EXPECT_EQ(c.record(run).attempts, 1);
  EXPECT_THAT(c.TakeEvents("attempt.unreturned"), ElementsAre());
  c.Pass(absl::Seconds(1));
  EXPECT_EQ(c.record(run).attempts, 2);
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc2"));
  EXPECT_THAT(c.View("pc1").reason, HasSubstr("has not prepared run 1 within 20 s"));
  c.TakeMessages();
  c.TakeEvents();
  ASSERT_OK(c.ReturnedOver("pc1", {run, 1}));
  EXPECT_THAT(c.TakeMessages(), ElementsAre(absl::StrCat("pc1: forget ", run, ".1")));
  EXPECT_THAT(c.TakeEvents(), ElementsAre());
}

TEST(GangTest, ACancelDoesNotWaitForANodeThatStillPrepares) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  ASSERT_OK(c.Cancel(run));
  c.Pass(absl::Seconds(10));
  EXPECT_EQ(c.state(run), RunState::kCancelled);
  EXPECT_THAT(c.TakeEvents("attempt.unreturned"), ElementsAre());
}

TEST(GangTest, NodeThatCannotStartRanksIsTheLastChoice) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.AllPrepared(run);
  c.Join({"pc2"});
  ASSERT_OK(c.Returned(run, "pc1", "its supervisor could not be started"));
  c.Pass(absl::Seconds(1));
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc2"));
}

TEST(GangTest, ARunEndsWhenItsLastRankDid) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId run = c.Submit(Nodes(1));
  c.Run(run);
  c.Pass(absl::Seconds(10));
  ASSERT_OK(
      c.Exit(run, 0, {0, std::nullopt, false, "", ""}, {absl::Seconds(10), absl::Seconds(3)}));
  c.Pass(absl::Seconds(1));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.record(run).ended_at - c.record(run).started_at, absl::Seconds(7));
  EXPECT_EQ(c.record(run).reason, "its rank exited 0 after 7 s");
}

TEST(GangTest, NodeThatDoesNotStartItsRanksIsNamed) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  c.AllPrepared(run);
  ASSERT_OK(c.Started(run, "pc2"));
  c.Pass(absl::Seconds(20));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  EXPECT_EQ(c.record(run).reason, "pc1 did not start its ranks within 20 s");
}

TEST(GangTest, RanksBeganAndEndedWhenTheirNodesSayHoweverLateThatIsHeard) {
  ClusterTester c;
  c.Join({"pc1", "pc2"});
  const RunId run = c.Submit(Nodes(2));
  c.AllPrepared(run);
  c.Pass(absl::Seconds(10));
  const absl::Time begin = c.now().wall;
  c.Pass(absl::Milliseconds(80));
  ASSERT_OK(c.Started(run, "pc1", absl::Milliseconds(50)));
  ASSERT_OK(c.Started(run, "pc2", absl::Milliseconds(10)));
  EXPECT_EQ(c.rank(run, 0).started_at, begin + absl::Milliseconds(30));
  EXPECT_EQ(c.attempt(run).started_at, begin + absl::Milliseconds(70)) << "with its last rank";
  EXPECT_EQ(c.record(run).started_at, c.attempt(run).started_at);
  c.Pass(absl::Seconds(1));
  const protocol::RankAges ago{absl::Milliseconds(900), absl::Milliseconds(880)};
  ASSERT_OK(c.Exit(run, 0, protocol::RankExit{0, std::nullopt, false, "", ""}, ago));
  EXPECT_EQ(c.rank(run, 0).ended_at, c.now().wall - ago.ended);
  EXPECT_EQ(c.rank(run, 0).ended_at - c.rank(run, 0).started_at, absl::Milliseconds(20));
}

TEST_F(RunningGangTest, FirstFailureStopsEveryNodeAtOnce) {
  protocol::RankExit exit;
  exit.exit_code = 3;
  exit.message = "ValueError: bad shape\nand more";
  ASSERT_OK(c.Exit(run, 1, exit));
  const std::string why = "rank 1 on pc2 exited with code 3: ValueError: bad shape";
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: stop 1.1 within 30 s: " + why,
                                            "pc2: stop 1.1 within 30 s: " + why));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  EXPECT_EQ(c.record(run).reason, why);
}

TEST_F(RunningGangTest, EarliestFailureIsTheCauseWhateverTheOrderOfReports) {
  protocol::RankExit victim;
  victim.exit_code = 1;
  victim.message = "Connection reset by peer";
  protocol::RankExit cause;
  cause.signal = 9;
  ASSERT_OK(c.Exit(run, 0, victim, {absl::Seconds(1), absl::Milliseconds(5)}));
  ASSERT_OK(c.Exit(run, 1, cause, {absl::Seconds(1), absl::Milliseconds(80)}));
  EXPECT_THAT(c.record(run).reason, StartsWith("rank 1 on pc2 was killed by SIGKILL"));
  c.AllReturned(run);
  c.Pass(absl::Seconds(1));
  ASSERT_EQ(c.record(run).attempts, 2) << "one restart is allowed";
  c.Run(run);
  ASSERT_OK(c.Exit(run, 1, cause));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kFailed);
  EXPECT_EQ(c.record(run).exit_code, 137);
  EXPECT_THAT(c.record(run).reason, StartsWith("rank 1 on pc2 was killed by SIGKILL"));
  EXPECT_THAT(c.record(run).reason, HasSubstr("; no restart is left of 1"));
}

TEST_F(RunningGangTest, ProgramThatFailedIsTriedAgainAfterABackOffOnTheSameNodes) {
  ASSERT_OK(c.Exit(run, 0, 1));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kQueued);
  EXPECT_EQ(c.record(run).failures, 1);
  EXPECT_THAT(c.record(run).reason, HasSubstr("restart 1 of 1"));
  c.Pass(absl::Seconds(1));
  EXPECT_THAT(c.nodes_of(run), ElementsAre("pc1", "pc2"));
  EXPECT_THAT(c.TakeMessages(), Contains("pc1: prepare 1.2 rank 0+1/2"));
}

TEST_F(RunningGangTest, ExitZeroAfterOurStopIsNotDone) {
  ASSERT_OK(c.Cancel(run));
  protocol::RankExit exit;
  exit.exit_code = 0;
  exit.after_stop = true;
  ASSERT_OK(c.Exit(run, 0, exit));
  ASSERT_OK(c.Exit(run, 1, exit));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kCancelled);
}

TEST_F(RunningGangTest, WorkThatWasDoneBeforeTheStopArrivedIsDone) {
  ASSERT_OK(c.Cancel(run));
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Exit(run, 1, 0));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kSucceeded);
}

TEST_F(RunningGangTest, CancelStopsAndEndsWithItsOwnCode) {
  ASSERT_OK(c.Cancel(run, "ben"));
  ASSERT_OK(c.Cancel(run, "anna")) << "asking again is fine";
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: stop 1.1 within 30 s: cancelled by ben",
                                            "pc2: stop 1.1 within 30 s: cancelled by ben"));
  EXPECT_TRUE(c.record(run).cancel_requested);
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kCancelled);
  EXPECT_EQ(c.record(run).exit_code, 122);
  EXPECT_EQ(c.record(run).reason, "cancelled by ben");
  EXPECT_THAT(c.Cancel(run), StatusIs(absl::StatusCode::kNotFound, "run 1 is over already"));
  EXPECT_THAT(c.Cancel(99), StatusIs(absl::StatusCode::kNotFound, "no run 99"));
}

TEST_F(RunningGangTest, CancelOfARunThatIsBeingRestartedWins) {
  ASSERT_OK(c.Exit(run, 0, 1));
  ASSERT_OK(c.Cancel(run, "ben"));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kCancelled);
  EXPECT_EQ(c.record(run).reason, "cancelled by ben");
}

TEST(GangTest, CancelOfAQueuedRunEndsItAtOnce) {
  ClusterTester c;
  c.Join({"pc1"});
  const RunId first = c.Submit(Nodes(1));
  const RunId second = c.Submit(Nodes(1));
  ASSERT_OK(c.Cancel(second));
  EXPECT_EQ(c.state(second), RunState::kCancelled);
  EXPECT_EQ(c.record(second).exit_code, 122);
  EXPECT_EQ(c.state(first), RunState::kStarting);
}

TEST(GangTest, TimeLimitCountsFromTheStartOfAllRanksAndIsTerminal) {
  ClusterTester c;
  c.Join({"pc1"});
  RunRequest request = Nodes(1);
  request.time_limit = absl::Minutes(2);
  request.max_restarts = 5;
  const RunId run = c.Submit(request);
  ASSERT_OK(c.Prepared(run, "pc1"));
  c.Pass(absl::Seconds(10));
  ASSERT_OK(c.Started(run, "pc1"));
  c.TakeMessages();
  c.Pass(absl::Seconds(119));
  EXPECT_THAT(c.TakeMessages(), IsEmpty());
  c.Pass(absl::Seconds(1));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: stop 1.1 within 30 s: reached its time limit of 2 min"));
  c.AllReturned(run);
  EXPECT_EQ(c.state(run), RunState::kTimedOut);
  EXPECT_EQ(c.record(run).exit_code, 124);
}

TEST_F(RunningGangTest, SupervisorThatDiedCostsNoRestart) {
  ASSERT_OK(c.Returned(run, "pc2", "the supervisor was killed"));
  EXPECT_EQ(c.record(run).reason, "pc2: the supervisor was killed");
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_EQ(c.record(run).losses, 1);
  EXPECT_EQ(c.record(run).attempts, 2) << "it goes on at once";
}

TEST_F(RunningGangTest, StoreThatIsLostWhenNobodyNeedsItAnyMoreEndsNothing) {
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Returned(run, "pc1", "the rendezvous store was lost"));
  EXPECT_EQ(c.state(run), RunState::kRunning);
  ASSERT_OK(c.Exit(run, 1, 0));
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_EQ(c.state(run), RunState::kSucceeded);
}

TEST_F(RunningGangTest, ProcessesThatLingerAfterTheRanksAreStopped) {
  ASSERT_OK(c.Exit(run, 0, 0));
  ASSERT_OK(c.Exit(run, 1, 0));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Pass(absl::Seconds(7));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc2: stop 1.1 within 30 s: every rank exited 0, but processes they "
                          "started are still there"));
  ASSERT_OK(c.Returned(run, "pc2"));
  EXPECT_EQ(c.state(run), RunState::kSucceeded);
}

TEST_F(RunningGangTest, DevicesThatDoNotComeBackAreReportedAndStayTaken) {
  ASSERT_OK(c.Cancel(run));
  ASSERT_OK(c.Returned(run, "pc1"));
  c.Pass(absl::Seconds(40));
  EXPECT_THAT(
      c.TakeEvents("attempt"),
      ElementsAre(
          "attempt.unreturned pc2 has not returned devices 40 s after the ranks were told to end"));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  EXPECT_EQ(c.Wait(run), "waits for the devices of pc2: cancelled by anna");
}

TEST_F(RunningGangTest, WhatSurvivesSigkillIsNamedAndItsDeviceStaysTaken) {
  ASSERT_OK(c.Cancel(run));
  ASSERT_OK(c.Returned(run, "pc1"));
  const std::string stuck = "python3 (4711) is in uninterruptible sleep in nvidia_close";
  ASSERT_OK(c.Report("pc2", protocol::Heartbeat{{{c.ref(run), -1, stuck}}}));
  c.Pass(absl::Seconds(40));
  EXPECT_THAT(c.TakeEvents("attempt"),
              ElementsAre("attempt.unreturned pc2 has not returned devices 40 s after the ranks "
                          "were told to end; SIGKILL did not end all on pc2: python3 (4711) is "
                          "in uninterruptible sleep in nvidia_close"));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  EXPECT_THAT(c.Wait(run), HasSubstr("nvidia_close"));
  EXPECT_EQ(c.NodeState("pc2"), "busy");
}

TEST_F(RunningGangTest, AnAbortAfterOthersHadFinishedIsShownAsWhatItIs) {
  ASSERT_OK(c.Exit(run, 0, 0));
  protocol::RankExit aborted;
  aborted.signal = 6;
  aborted.message = "terminate called without an active exception";
  ASSERT_OK(c.Exit(run, 1, aborted));
  c.AllReturned(run);
  EXPECT_EQ(c.record(run).failures, 1) << "it is a failure like any other";
  EXPECT_EQ(c.attempt(run).outcome, AttemptOutcome::kProgramFailed);
  EXPECT_EQ(c.attempt(run).reason,
            "rank 1 on pc2 was killed by SIGABRT: terminate called without an active exception "
            "(when 1 of 2 ranks had exited 0: perhaps on its way out, with its work done)");
}

TEST_F(RunningGangTest, RanksThatTheirWorkerEndedByItselfAreNoFailureOfTheProgram) {
  protocol::RankExit exit;
  exit.signal = 15;
  exit.after_stop = true;
  ASSERT_OK(c.Exit(run, 1, exit));
  EXPECT_EQ(c.state(run), RunState::kStopping);
  ASSERT_OK(c.Returned(run, "pc2", "pc2: its worker is stopping"));
  ASSERT_OK(c.Returned(run, "pc1"));
  EXPECT_THAT(c.TakeEvents(), Contains(AllOf(HasSubstr(" pc2: its worker is stopping"),
                                             Not(HasSubstr("pc2: pc2")))));
  EXPECT_EQ(c.record(run).failures, 0);
  EXPECT_EQ(c.record(run).losses, 1);
}

TEST_F(RunningGangTest, ReportsOfAReplacedAttemptAreRefusedByNameAndCounted) {
  ASSERT_OK(c.Exit(run, 0, 1));
  c.AllReturned(run);
  c.Pass(absl::Seconds(1));
  c.TakeEvents();
  c.TakeMessages();
  protocol::RankExit exit;
  exit.exit_code = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(c.Report("pc1", protocol::RankEnded{{run, 1}, 0, exit, {}}));
  }
  EXPECT_EQ(c.cluster().GetTotals().stale_refused, 2);
  EXPECT_THAT(c.TakeEvents(), ElementsAre("attempt.stale refused a report of pc1: attempt 1.1 was "
                                          "replaced by 1.2"))
      << "one event for the first of them";
  EXPECT_THAT(c.TakeMessages(), ElementsAre("pc1: forget 1.1", "pc1: forget 1.1"));
  ASSERT_OK(c.Report("pc3", protocol::RankEnded{{run, 2}, 0, exit, {}}));
  ASSERT_OK(c.Report("pc3", protocol::RankEnded{{77, 1}, 0, exit, {}}));
  EXPECT_THAT(
      c.TakeEvents(),
      ElementsAre("attempt.stale refused a report of pc3: attempt 1.2 has no part on pc3",
                  "attempt.stale refused a report of pc3: attempt 77.1: run 77 does not exist"));
}

TEST_F(RunningGangTest, WrongIncarnationIsRefused) {
  Effects effects;
  EXPECT_THAT(
      c.cluster().Apply(c.now(), {"pc1", 5}, protocol::RankEnded{{run, 1}, 0, {}, {}}, &effects),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               "wrong incarnation: pc1 said 5, connected is 1"));
  EXPECT_THAT(c.cluster().Heard(c.now(), {"pc9", 1}),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST_F(RunningGangTest, SaidTwiceIsSaidOnce) {
  ASSERT_OK(c.Exit(run, 0, 0));
  const size_t events = c.TakeEvents().size();
  EXPECT_EQ(events, 1);
  ASSERT_OK(c.Exit(run, 0, 1));
  ASSERT_OK(c.Started(run, "pc1"));
  ASSERT_OK(c.Prepared(run, "pc1"));
  EXPECT_THAT(c.TakeEvents(), IsEmpty());
  EXPECT_EQ(c.state(run), RunState::kRunning);
}

TEST(GangTest, RanksAreNumberedByNodeAndShareTheDevicesOfTheirNode) {
  ClusterTester c;
  ASSERT_OK(c.Hello(HelloOf("pc1", 2)));
  ASSERT_OK(c.Hello(HelloOf("pc2", 2)));
  const RunId run = c.Submit(Nodes(2));
  EXPECT_THAT(c.TakeMessages(),
              ElementsAre("pc1: prepare 1.1 rank 0+2/4", "pc2: prepare 1.1 rank 2+2/4"));
  c.Run(run);
  const Snapshot snapshot = c.Durable();
  ASSERT_EQ(snapshot.ranks.size(), 4);
  EXPECT_EQ(snapshot.ranks[3].node, "pc2");
  EXPECT_EQ(snapshot.ranks[3].local_rank, 1);
  EXPECT_THAT(snapshot.ranks[3].devices, ElementsAre(1));
  EXPECT_EQ(snapshot.ranks[3].pid, 1003);
}

}  // namespace
}  // namespace hpc::coordinator::testing
