// The lives of ranks under a real supervisor.
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/status_matchers.h"
#include "worker/loop/boot_time.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor_client/testing/attempt_rig.h"

namespace hpc::worker {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(SupervisorTest, RanksStartAndTellHowTheyEnded) {
  AttemptRig rig;
  rig.AddShell("exit 0");
  rig.AddShell("exit 7");
  rig.AddShell("kill -USR1 $$");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_THAT(rig.All<SupervisorReady>(), SizeIs(1));
  EXPECT_THAT(rig.All<RankStarted>(), SizeIs(3));
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 0);
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(1).wait_status), 7);
  ASSERT_TRUE(WIFSIGNALED(rig.ExitOf(2).wait_status));
  EXPECT_EQ(WTERMSIG(rig.ExitOf(2).wait_status), SIGUSR1);
  for (int rank = 0; rank < 3; ++rank) EXPECT_FALSE(rig.ExitOf(rank).after_stop);
  EXPECT_GT(rig.ExitOf(0).max_rss_kb, 0);
  EXPECT_EQ(rig.All<AllGone>()[0].kill_ns, 0);
  EXPECT_EQ(rig.All<AllGone>()[0].killed, 0);
  EXPECT_TRUE(std::holds_alternative<AllGone>(rig.events.back()));
}

TEST(SupervisorTest, ARankIsTimedFromItsLaunchHoweverSoonItEnds) {
  AttemptRig rig;
  for (int rank = 0; rank < 20; ++rank) rig.AddShell("exit 0");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  for (const RankStarted& started : rig.All<RankStarted>()) {
    // Loading a program takes at least this long.
    EXPECT_GT(rig.ExitOf(started.rank).at_ns - started.at_ns, 200'000) << started.rank;
  }
}

TEST(SupervisorTest, NoRankRunsBeforeItIsToldTo) {
  AttemptRig rig;
  rig.AddShell("echo ran");
  rig.Spawn();
  rig.RunUntil("Ready", [&] { return rig.Saw<SupervisorReady>(); });
  rig.Send(StopRanks{.grace_ms = 1000, .reason = "rolled back"});
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.All<StopBegan>()[0].reason, "rolled back");
  EXPECT_FALSE(rig.Saw<RankStarted>());
  EXPECT_EQ(rig.FileOf("rank-0.out"), "");
}

TEST(SupervisorTest, AProgramThatCannotBeRunIsNamed) {
  AttemptRig rig;
  rig.AddRank({"/no/such/program"});
  rig.AddRank({"/etc/passwd"});
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  const auto failed = rig.All<RankStartFailed>();
  ASSERT_THAT(failed, SizeIs(2));
  for (const RankStartFailed& one : failed) {
    EXPECT_EQ(one.error, one.rank == 0 ? ENOENT : EACCES);
    EXPECT_EQ(one.what, one.rank == 0 ? "execve /no/such/program" : "execve /etc/passwd");
  }
  EXPECT_FALSE(rig.Saw<RankStarted>());
  EXPECT_FALSE(rig.Saw<RankExited>());
}

TEST(SupervisorTest, AMissingWorkingDirectoryIsNamed) {
  AttemptRig rig;
  rig.spec.workdir = "/no/such/dir";
  rig.AddShell("exit 0");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  const auto failed = rig.All<RankStartFailed>();
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed[0].error, ENOENT);
  EXPECT_EQ(failed[0].what, "chdir /no/such/dir");
}

TEST(SupervisorTest, ARankGetsItsArgumentsAndEnvironmentExactly) {
  AttemptRig rig;
  rig.AddRank({"/bin/sh", "-c", "printf '%s|' \"$@\"; tr '\\0' '\\n' < /proc/$$/environ >&2", "sh",
               "", "a b", "\xff\n"});
  rig.spec.ranks[0].env = {"B=2", "A=x y", "EMPTY="};
  rig.Spawn();
  rig.Send(StartRanks{.env = {"MASTER_PORT=29500", "A=not this"}});
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.FileOf("rank-0.out"), "|a b|\xff\n|");
  EXPECT_EQ(rig.FileOf("rank-0.err"), "B=2\nA=x y\nEMPTY=\nMASTER_PORT=29500\n");
}

TEST(SupervisorTest, ARankMayHave5000Variables) {
  AttemptRig rig;
  rig.AddShell("tr '\\0' '\\n' < /proc/$$/environ | grep -c ^VARIABLE_");
  for (int i = 0; i < 5000; ++i) {
    rig.spec.ranks[0].env.push_back("VARIABLE_" + std::to_string(i) + "=" + std::string(50, 'x'));
  }
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.FileOf("rank-0.out"), "5000\n");
}

TEST(SupervisorTest, ArgumentsBeyondTheKernelsLimitAreAStartFailure) {
  AttemptRig rig;
  rig.AddRank({"/bin/echo", std::string(10 << 20, 'x')});
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  ASSERT_THAT(rig.All<RankStartFailed>(), SizeIs(1));
  EXPECT_EQ(rig.All<RankStartFailed>()[0].error, E2BIG);
}

TEST(SupervisorTest, ARankStartsWithNothingOfOurs) {
  AttemptRig rig;
  rig.AddShell("ls /proc/$$/fd");
  rig.AddShell("grep -E 'SigBlk|SigIgn' /proc/self/status | cut -f 2");
  rig.AddShell("set -- $(cat /proc/$$/stat); test $5 = $$ && test $6 = $$ && echo leader");
  rig.AddShell("pwd; readlink /proc/$$/fd/0");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.FileOf("rank-0.out"), "0\n1\n2\n");
  EXPECT_EQ(rig.FileOf("rank-1.out"), "0000000000000000\n0000000000000000\n");
  EXPECT_EQ(rig.FileOf("rank-2.out"), "leader\n");
  EXPECT_EQ(rig.FileOf("rank-3.out"), rig.spec.workdir + "\n/dev/null\n");
}

TEST(SupervisorTest, TheUsualLimitOfOpenFilesHoldsForRanksNotForTheirSupervisor) {
  constexpr int kRanks = 40;
  AttemptRig rig;
  for (int i = 0; i < kRanks; ++i) rig.AddShell("ulimit -S -n");
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  rig.Spawn();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  rig.Start();
  rig.RunUntilAllGone();
  for (int i = 0; i < kRanks; ++i) {
    EXPECT_EQ(rig.FileOf("rank-" + std::to_string(i) + ".out"), "64\n");
  }
}

TEST(SupervisorTest, AStopAsksFirst) {
  AttemptRig rig;
  rig.AddShell("trap 'echo asked; exit 3' TERM; echo up; while :; do sleep 0.01; done");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "up");
  rig.Send(StopRanks{.grace_ms = 15'000, .reason = "cancelled"});
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.All<StopBegan>()[0].reason, "cancelled");
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 3);
  EXPECT_TRUE(rig.ExitOf(0).after_stop);
  EXPECT_EQ(rig.FileOf("rank-0.out"), "up\nasked\n");
  EXPECT_GT(rig.All<AllGone>()[0].kill_ns, 0);
}

TEST(SupervisorTest, WhatIgnoresSigtermIsKilledAfterTheGrace) {
  AttemptRig rig;
  rig.AddShell("trap '' TERM; echo up; exec sleep 1000");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "up");
  rig.Send(StopRanks{.grace_ms = 50, .reason = "cancelled"});
  rig.RunUntilAllGone();
  ASSERT_TRUE(WIFSIGNALED(rig.ExitOf(0).wait_status));
  EXPECT_EQ(WTERMSIG(rig.ExitOf(0).wait_status), SIGKILL);
  EXPECT_TRUE(rig.ExitOf(0).after_stop);
  EXPECT_EQ(rig.All<AllGone>()[0].killed, 1);
  EXPECT_GE(rig.All<AllGone>()[0].kill_ns, 50'000'000);
}

TEST(SupervisorTest, AStoppedRankStillTakesTheStop) {
  AttemptRig rig;
  rig.AddShell("trap 'exit 3' TERM; echo up; kill -STOP $$; while :; do sleep 0.01; done");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "up");
  rig.Send(StopRanks{.grace_ms = 15'000, .reason = "cancelled"});
  rig.RunUntilAllGone();
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 3);
}

TEST(SupervisorTest, ASecondStopCanOnlyHasten) {
  AttemptRig rig;
  rig.AddShell("trap '' TERM; echo up; exec sleep 1000");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "up");
  rig.Send(StopRanks{.grace_ms = 1'000'000, .reason = "first"});
  rig.Send(StopRanks{.grace_ms = 0, .reason = "second"});
  // The supervisor may be gone by now.
  (void)rig.client->Send(StopRanks{.grace_ms = 1'000'000, .reason = "third"});
  rig.RunUntilAllGone();
  ASSERT_THAT(rig.All<StopBegan>(), SizeIs(1));
  EXPECT_EQ(rig.All<StopBegan>()[0].reason, "first");
}

TEST(SupervisorTest, ARankThatEndedBeforeTheStopIsReadHasEndedByItself) {
  AttemptRig rig;
  rig.AddShell("exec sleep 1000");
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.Start();
  rig.RunUntil("both ranks", [&] { return rig.All<RankStarted>().size() == 2; });
  const pid_t supervisor = static_cast<pid_t>(rig.supervisor_pid());
  const pid_t rank = static_cast<pid_t>(rig.All<RankStarted>()[0].pid);
  const auto stat_of = [](pid_t pid) { return ReadProcessStat(pid).value_or(ProcessStat{}); };
  kill(supervisor, SIGSTOP);
  rig.RunUntil("a standstill", [&] { return stat_of(supervisor).state == 'T'; });
  // An order that came before the end, so that the socket is read before the signals are.
  rig.Send(ExtendLease{});
  kill(rank, SIGKILL);
  rig.RunUntil("the end of a rank", [&] { return stat_of(rank).Ended(); });
  rig.Send(StopRanks{.grace_ms = 15'000, .reason = "cancelled"});
  kill(supervisor, SIGCONT);
  rig.RunUntilAllGone();
  const int32_t first = rig.All<RankStarted>()[0].rank;
  EXPECT_FALSE(rig.ExitOf(first).after_stop);
  EXPECT_TRUE(rig.ExitOf(1 - first).after_stop);
}

TEST(SupervisorTest, SigtermToTheSupervisorStopsItsRanks) {
  AttemptRig rig;
  rig.AddShell("trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "up");
  kill(static_cast<pid_t>(rig.supervisor_pid()), SIGTERM);
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.All<StopBegan>()[0].reason, "SIGTERM");
  EXPECT_EQ(WEXITSTATUS(rig.ExitOf(0).wait_status), 3);
  EXPECT_TRUE(rig.ExitOf(0).after_stop);
}

TEST(SupervisorTest, WithoutALeaseItStopsItsRanks) {
  AttemptRig rig;
  rig.spec.lease_ms = 200;
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.All<StopBegan>()[0].reason, "lease");
  EXPECT_EQ(WTERMSIG(rig.ExitOf(0).wait_status), SIGTERM);
}

TEST(SupervisorTest, ALeaseThatIsExtendedHolds) {
  AttemptRig rig;
  rig.spec.lease_ms = 1500;
  rig.AddShell("sleep 2");
  rig.Spawn();
  rig.Start();
  rig.RunUntil("the rank's own end", [&] {
    if (!rig.Saw<AllGone>()) (void)rig.client->Send(ExtendLease{});
    return rig.Saw<AllGone>();
  });
  EXPECT_FALSE(rig.Saw<StopBegan>());
  EXPECT_EQ(rig.ExitOf(0).wait_status, 0);
}

TEST(SupervisorTest, BeyondItsFenceNoRankLivesWhateverItDoesWithSigterm) {
  AttemptRig rig;
  rig.AddShell("trap '' TERM; echo up; while :; do sleep 0.01; done");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "up");
  EXPECT_TRUE(rig.client->Send(Fence{.at_ns = BootTimeNs() + 200'000'000}).ok());
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.All<StopBegan>()[0].reason, "fence");
  EXPECT_EQ(WTERMSIG(rig.ExitOf(0).wait_status), SIGKILL);
  EXPECT_TRUE(rig.ExitOf(0).after_stop);
}

TEST(SupervisorTest, AFenceEndsTheGraceToo) {
  AttemptRig rig;
  rig.AddShell("trap '' TERM; echo up; while :; do sleep 0.01; done");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "up");
  EXPECT_TRUE(rig.client->Send(StopRanks{.grace_ms = 600'000, .reason = "cancelled"}).ok());
  EXPECT_TRUE(rig.client->Send(Fence{.at_ns = BootTimeNs() + 200'000'000}).ok());
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.All<StopBegan>().size(), 1u);
}

TEST(SupervisorTest, BehindAFenceNothingIsStarted) {
  AttemptRig rig;
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  EXPECT_TRUE(rig.client->Send(Fence{.at_ns = 1}).ok());
  (void)rig.client->Send(StartRanks{});  // it may be gone already
  rig.RunUntilAllGone();
  EXPECT_FALSE(rig.Saw<RankStarted>());
}

// A PC that goes down sends SIGTERM to all of its processes, and perhaps to a rank first.
class RankToldFirstTest : public ::testing::Test {
 protected:
  void Start(const std::string& script) {
    rig_.AddShell(script);
    rig_.Spawn();
    rig_.Start();
    rig_.RunUntilOutput("rank-0.out", "ready");
    Pass(600'000'000);  // the supervisor has looked whether it catches SIGTERM
  }
  void Pass(int64_t ns) {
    const int64_t end = BootTimeNs() + ns;
    rig_.RunUntil("time passes", [&] { return BootTimeNs() >= end; });
  }
  void Tell(int64_t pid) { kill(static_cast<pid_t>(pid), SIGTERM); }
  int64_t rank() { return rig_.All<RankStarted>()[0].pid; }

  AttemptRig rig_;
};

constexpr char kAnswersWithSuccess[] =
    "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done";

TEST_F(RankToldFirstTest, ItsAnswerIsNoSuccess) {
  Start(kAnswersWithSuccess);
  Tell(rank());
  Pass(50'000'000);
  EXPECT_FALSE(rig_.Saw<RankExited>());
  Tell(rig_.supervisor_pid());
  rig_.RunUntilAllGone();
  EXPECT_TRUE(rig_.ExitOf(0).after_stop);
  EXPECT_EQ(rig_.All<StopBegan>()[0].reason, "SIGTERM");
  EXPECT_LT(rig_.ExitOf(0).at_ns, rig_.All<StopBegan>()[0].at_ns) << "it tells when it ended";
}

TEST_F(RankToldFirstTest, WhereNobodyElseIsToldItIsASuccess) {
  Start(kAnswersWithSuccess);
  Tell(rank());
  rig_.RunUntilAllGone();
  EXPECT_FALSE(rig_.ExitOf(0).after_stop);
  EXPECT_THAT(rig_.All<CaughtSigterm>(), SizeIs(1));
}

TEST_F(RankToldFirstTest, AnOrderOfTheCoordinatorComesTooLate) {
  Start(kAnswersWithSuccess);
  Tell(rank());
  Pass(50'000'000);
  rig_.Send(StopRanks{.grace_ms = 1000, .reason = "told: cancelled"});
  rig_.RunUntilAllGone();
  EXPECT_FALSE(rig_.ExitOf(0).after_stop);
}

TEST_F(RankToldFirstTest, OneThatDoesNotCatchSigtermHasNoAnswer) {
  Start("echo ready; sleep 1; exit 0");
  rig_.RunUntilAllGone();
  EXPECT_FALSE(rig_.Saw<CaughtSigterm>());
}

}  // namespace
}  // namespace hpc::worker
