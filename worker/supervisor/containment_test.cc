// Nothing of an attempt outlives it, whatever its ranks do.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor_client/leftovers.h"
#include "worker/supervisor_client/scope.h"
#include "worker/supervisor_client/testing/attempt_rig.h"

namespace hpc::worker {
namespace {

constexpr int kRounds = 8;

// What the processes of one evil rank have in common: their name and, except for its daemon, the
// FIFO that they hold open.
class Evil {
 public:
  explicit Evil(const AttemptRig& rig) : fifo_path_(rig.spec.workdir + "/fifo") {
    static int number = 0;
    // A name that no other process on the machine has, within the 15 characters that the kernel
    // keeps.
    name_ = "evil" + std::to_string(getpid()) + "." + std::to_string(number++ % 100);
    mkfifo(fifo_path_.c_str(), 0600);
    fifo_.Reset(open(fifo_path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  // Ends those that nobody else can end.
  ~Evil() {
    for (const int64_t pid : ProcessesNamed(name_)) kill(static_cast<pid_t>(pid), SIGKILL);
  }

  std::vector<std::string> Command() const { return {HPC_EVIL_RANK_PROGRAM, name_, fifo_path_}; }
  // Whether all of its processes live, and its hopper has hopped for a while.
  bool AtWork() {
    char hops[64];
    const ssize_t n = read(fifo_.get(), hops, sizeof hops);
    if (n > 0) hops_ += n;
    return hops_ > 20 && ProcessesNamed(name_).size() >= 3;
  }
  // Whether none of its processes lives.
  bool Ended() {
    char hops[4096];
    ssize_t n;
    while ((n = read(fifo_.get(), hops, sizeof hops)) > 0) continue;
    return n == 0 && ProcessesNamed(name_).empty();
  }
  bool Lives(int64_t pid) const {
    const auto pids = ProcessesNamed(name_);
    return std::find(pids.begin(), pids.end(), pid) != pids.end();
  }

 private:
  std::string fifo_path_, name_;
  UniqueFd fifo_;
  int64_t hops_ = 0;
};

class ContainmentTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (kind() == "cgroup" && cgroup_.path().empty()) GTEST_SKIP() << cgroup_.why_not();
    if (kind() == "scope" && (!ScopeRequest::Possible() || geteuid() != 0)) {
      GTEST_SKIP() << "systemd does not run here, or not for us";
    }
  }
  std::string kind() const { return GetParam(); }
  void Prepare(AttemptRig* rig) const {
    if (kind() == "cgroup") rig->spec.cgroup_parent = cgroup_.path();
    if (kind() == "subreaper") rig->spec.cgroup_parent = "/no/such/folder";
  }
  void StartEvil(AttemptRig* rig, Evil* evil) const {
    Prepare(rig);
    rig->AddRank(evil->Command());
    rig->Spawn();
    rig->Start();
    rig->RunUntil("the evil rank", [&] { return rig->Saw<RankStarted>() && evil->AtWork(); });
  }

  TestCgroup cgroup_;
};

TEST_P(ContainmentTest, TheEvilRankLeavesNoSurvivor) {
  for (int round = 0; round < kRounds; ++round) {
    AttemptRig rig;
    Evil evil(rig);
    StartEvil(&rig, &evil);
    EXPECT_EQ(rig.All<SupervisorReady>()[0].containment, GetParam());
    rig.Send(StopRanks{.grace_ms = 10, .reason = "cancelled"});
    rig.RunUntilAllGone();
    EXPECT_TRUE(evil.Ended()) << "round " << round;
    EXPECT_GE(rig.All<AllGone>()[0].killed, 4);
    EXPECT_GT(rig.All<AllGone>()[0].kill_ns, 10'000'000);
  }
}

TEST_P(ContainmentTest, WhatARankLeavesBehindDiesWithTheAttempt) {
  AttemptRig rig;
  Prepare(&rig);
  Evil evil(rig);
  rig.AddRank(evil.Command());
  rig.spec.ranks[0].argv.push_back("leave");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_TRUE(evil.Ended());
  EXPECT_EQ(rig.ExitOf(0).wait_status, 0);
  EXPECT_FALSE(rig.ExitOf(0).after_stop);
  EXPECT_FALSE(rig.Saw<StopBegan>());
  EXPECT_GE(rig.All<AllGone>()[0].killed, 3);
}

TEST_P(ContainmentTest, ARanksChildrenLiveAsLongAsOtherRanksDo) {
  AttemptRig rig;
  Prepare(&rig);
  rig.AddShell("sleep 1000 & echo $!");
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.Start();
  rig.RunUntil("the first rank's end", [&] { return rig.Saw<RankExited>(); });
  const auto child = static_cast<pid_t>(std::stoi(rig.FileOf("rank-0.out")));
  EXPECT_EQ(kill(child, 0), 0);
  rig.Send(StopRanks{.grace_ms = 5000, .reason = "cancelled"});
  rig.RunUntilAllGone();
  EXPECT_EQ(kill(child, 0), -1);
}

TEST_P(ContainmentTest, RanksDieWithASupervisorThatIsKilled) {
  AttemptRig rig;
  Evil evil(rig);
  StartEvil(&rig, &evil);
  const int64_t rank = rig.All<RankStarted>()[0].pid;
  kill(static_cast<pid_t>(rig.supervisor_pid()), SIGKILL);
  rig.RunUntil("the loss", [&] { return !rig.losses.empty(); });
  EXPECT_FALSE(rig.Saw<AllGone>());
  EXPECT_OK(KillLeftovers(rig.spec.name, rig.spec.dir, {}));
  EXPECT_FALSE(evil.Lives(rank));
  rig.RunUntil("the end of all", [&] {
    // Without a cgroup one look may miss a process that is always another one.
    if (kind() == "subreaper") {
      EXPECT_OK(KillLeftovers(rig.spec.name, rig.spec.dir, {}));
    }
    return evil.Ended();
  });
}

TEST_P(ContainmentTest, WhatSurvivesSigkillIsNamedUntilItIsGone) {
  AttemptRig rig;
  Prepare(&rig);
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.Start();
  rig.RunUntil("the rank", [&] { return rig.Saw<RankStarted>(); });
  const auto rank = static_cast<pid_t>(rig.All<RankStarted>()[0].pid);
  // A traced process is not gone before its tracer releases it. This is like a process that is
  // stuck in a driver.
  if (ptrace(PTRACE_SEIZE, rank, nullptr, nullptr) != 0) GTEST_SKIP() << "may not trace";
  rig.Send(StopRanks{.grace_ms = 0, .reason = "cancelled"});
  rig.RunUntil("NotGone", [&] { return rig.Saw<NotGone>(); });
  EXPECT_THAT(rig.All<NotGone>()[0].pids, ::testing::ElementsAre(rank));
  EXPECT_FALSE(rig.Saw<AllGone>());
  waitpid(rank, nullptr, __WALL);
  rig.RunUntilAllGone();
  EXPECT_GT(rig.All<AllGone>()[0].kill_ns, 5'000'000'000);
}

INSTANTIATE_TEST_SUITE_P(By, ContainmentTest, ::testing::Values("scope", "cgroup", "subreaper"),
                         [](const auto& test) { return test.param; });

TEST(CgroupTest, NothingOfItIsLeft) {
  TestCgroup parent;
  if (parent.path().empty()) GTEST_SKIP() << parent.why_not();
  AttemptRig rig;
  rig.spec.cgroup_parent = parent.path();
  // Root may do this.
  rig.AddShell("cd " + parent.path() + "/hpc-12.2-* && mkdir -p a/b && echo nested");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.FileOf("rank-0.out"), "nested\n");
  rig.RunUntil("the removal", [&] { return rmdir(parent.path().c_str()) == 0; });
}

TEST(CgroupTest, TheWorkersOwnIsTakenWhereItIsWritable) {
  if (ScopeRequest::Possible() || OwnWritableCgroup().empty()) {
    GTEST_SKIP() << "systemd runs, or our own cgroup is not writable";
  }
  AttemptRig rig;
  rig.AddShell("grep ^0:: /proc/self/cgroup");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.All<SupervisorReady>()[0].containment, "cgroup");
  EXPECT_THAT(rig.FileOf("rank-0.out"), ::testing::HasSubstr("/hpc-12.2-"));
}

TEST(CgroupTest, WithoutOneRanksAreStillHeld) {
  AttemptRig rig;
  rig.spec.cgroup_parent = "/no/such/folder";
  rig.AddShell("exit 0");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.All<SupervisorReady>()[0].containment, "subreaper");
  EXPECT_THAT(rig.FileOf("supervisor.log"), ::testing::HasSubstr("no cgroup /no/such/folder/"));
}

TEST(KillLeftoversTest, WithoutACgroupDescendantsAreKnownByTheirEnvironment) {
  AttemptRig rig;
  rig.spec.cgroup_parent = "/no/such/folder";
  rig.AddShell("setsid sleep 1000 & echo $!; exec sleep 1000");
  // One variable is enough, since a run may set the others to something else.
  rig.spec.ranks[0].env = {"PATH=/usr/bin:/bin", "HPC_METRICS_FILE=x",
                           "TORCHELASTIC_ERROR_FILE=" + rig.spec.dir + "/error-0.json"};
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "\n");
  const auto child = static_cast<pid_t>(std::stoi(rig.FileOf("rank-0.out")));
  kill(static_cast<pid_t>(rig.supervisor_pid()), SIGKILL);
  rig.RunUntil("the loss", [&] { return !rig.losses.empty(); });
  EXPECT_OK(KillLeftovers(rig.spec.name, rig.spec.dir, {}));
  rig.RunUntil("init to reap it", [&] { return kill(child, 0) != 0; });
}

TEST(KillLeftoversTest, WithoutItsFilesACgroupIsKnownByItsName) {
  const TestCgroup parent;
  if (parent.path().empty()) GTEST_SKIP() << parent.why_not();
  AttemptRig rig;
  rig.spec.cgroup_parent = parent.path();
  rig.AddShell("env -i setsid sleep 1000 & echo $!; exec sleep 1000");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "\n");
  const auto child = static_cast<pid_t>(std::stoi(rig.FileOf("rank-0.out")));
  rig.RemoveFiles();
  kill(static_cast<pid_t>(rig.supervisor_pid()), SIGKILL);
  rig.RunUntil("the loss", [&] { return !rig.losses.empty(); });
  EXPECT_OK(KillLeftovers("12.2", rig.spec.dir + "x", {}));
  EXPECT_EQ(kill(child, 0), 0);
  EXPECT_OK(KillLeftovers("12.2", rig.spec.dir, {}));
  rig.RunUntil("init to reap it", [&] { return kill(child, 0) != 0; });
}

TEST(KillLeftoversTest, WithoutItsFilesTheRanksThatWereSeenAreKnown) {
  AttemptRig rig;
  rig.spec.cgroup_parent = "/no/such/folder";
  rig.AddShell("env -i sleep 1000 & echo $!; exec sleep 1000");
  rig.Spawn();
  rig.Start();
  rig.RunUntilOutput("rank-0.out", "\n");
  rig.RunUntil("the start", [&] { return rig.Saw<RankStarted>(); });
  const auto child = static_cast<pid_t>(std::stoi(rig.FileOf("rank-0.out")));
  rig.RemoveFiles();
  kill(static_cast<pid_t>(rig.supervisor_pid()), SIGKILL);
  rig.RunUntil("the loss", [&] { return !rig.losses.empty(); });
  EXPECT_OK(KillLeftovers("12.2", rig.spec.dir, rig.All<RankStarted>()));
  rig.RunUntil("init to reap it", [&] { return kill(child, 0) != 0; });
}

TEST(KillLeftoversTest, NothingIsLeftOfAnAttemptThatEnded) {
  AttemptRig rig;
  rig.AddShell("exit 0");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_OK(KillLeftovers(rig.spec.name, rig.spec.dir, {}));
}

TEST(KillLeftoversTest, NothingIsLeftOfAnAttemptThatNeverBegan) {
  EXPECT_OK(KillLeftovers("12.2", "/no/such/dir", {}));
}

}  // namespace
}  // namespace hpc::worker
