// The process that makes supervisors. It may end, stand still, or be of another version.
#include "worker/supervisor_client/spawn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_matchers.h"
#include "common/version.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor/os/process_title.h"
#include "worker/supervisor/os/small_file.h"
#include "worker/supervisor/protocol/order.h"
#include "worker/supervisor_client/held_cgroup.h"
#include "worker/supervisor_client/leftovers.h"
#include "worker/supervisor_client/strays.h"
#include "worker/supervisor_client/testing/attempt_rig.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

// The processes of this program that make supervisors, which are its children.
std::vector<int64_t> Servers() {
  std::vector<int64_t> servers;
  const std::string self = std::to_string(getpid());
  for (const int64_t pid :
       Numbers(ReadSmallFile(AT_FDCWD, "/proc/self/task/" + self + "/children").value_or(""))) {
    const auto process = ReadProcessStat(pid);
    if (process && !process->Ended() && process->name == "hpc-fork-server") servers.push_back(pid);
  }
  return servers;
}

std::string CommandLineOf(int64_t pid) {
  return ReadFile("/proc/" + std::to_string(pid) + "/cmdline", 1 << 16).value_or("");
}

void RunToItsEnd(AttemptRig* rig) {
  rig->AddShell("exit 0");
  rig->Spawn();
  rig->Start();
  rig->RunUntilAllGone();
}

TEST(SupervisorSpawnerTest, OneProcessMakesThemAllAndEndsWithItsWorker) {
  {
    AttemptRig rig;
    RunToItsEnd(&rig);
    const auto servers = Servers();
    ASSERT_THAT(servers, SizeIs(1));
    rig.RemoveFiles();
    rig.events.clear();
    rig.Spawn();
    rig.Start();
    rig.RunUntilAllGone();
    EXPECT_EQ(Servers(), servers);
  }
  EXPECT_THAT(Servers(), IsEmpty());
}

TEST(SupervisorSpawnerTest, ASupervisorOutlivesIt) {
  AttemptRig rig;
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.RunUntil("Ready", [&] { return rig.Saw<SupervisorReady>(); });
  rig.program = "/no/such/program";  // a new spawner; the old one goes first
  rig.Spawner();
  EXPECT_THAT(Servers(), IsEmpty());
  rig.Start();
  rig.RunUntil("the start", [&] { return rig.Saw<RankStarted>(); });
  rig.Send(StopRanks{});
  rig.RunUntilAllGone();
}

TEST(SupervisorSpawnerTest, ListsOfProcessesShowWhoseASupervisorIs) {
  AttemptRig rig;
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.RunUntil("Ready", [&] { return rig.Saw<SupervisorReady>(); });
  const auto process = ReadProcessStat(rig.supervisor_pid());
  ASSERT_TRUE(process);
  EXPECT_EQ(process->name, "hpc-supervisor");
  EXPECT_EQ(process->session, rig.supervisor_pid());
  EXPECT_THAT(CommandLineOf(rig.supervisor_pid()), HasSubstr(rig.spec.dir));
  EXPECT_THAT(CommandLineOf(Servers().at(0)), HasSubstr("--fork-server"));
  rig.Send(StopRanks{});
  rig.RunUntilAllGone();
}

TEST(SupervisorSpawnerTest, ARankHasNothingOfTheProcessOpen) {
  AttemptRig rig;
  // Only descriptors 0 to 2 are open, and the one with which the list is read.
  rig.AddShell("ls /proc/self/fd");
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_EQ(rig.FileOf("rank-0.out"), "0\n1\n2\n3\n");
}

TEST(SupervisorSpawnerTest, ASupervisorHasEachOfItsFilesOnce) {
  AttemptRig rig;
  rig.AddShell("exec sleep 1000");
  rig.Spawn();
  rig.RunUntil("Ready", [&] { return rig.Saw<SupervisorReady>(); });
  int journals = 0;
  const std::string open_files = "/proc/" + std::to_string(rig.supervisor_pid()) + "/fd";
  for (const auto& fd : std::filesystem::directory_iterator(open_files)) {
    journals += std::filesystem::read_symlink(fd.path()).filename() == "journal" ? 1 : 0;
  }
  EXPECT_EQ(journals, 1);
  rig.Send(StopRanks{});
  rig.RunUntilAllGone();
}

TEST(SupervisorSpawnerTest, OneThatWasKilledIsStartedAgain) {
  AttemptRig rig;
  RunToItsEnd(&rig);
  const int64_t killed = Servers().at(0);
  kill(static_cast<pid_t>(killed), SIGKILL);
  rig.RunUntil("its end", [&] { return ReadProcessStat(killed)->Ended(); });
  rig.RemoveFiles();
  rig.events.clear();
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_THAT(Servers(), SizeIs(1));
}

TEST(SupervisorSpawnerTest, AnotherIsOrderedIfOneThatWaitedDoesNotHear) {
  AttemptRig rig;
  RunToItsEnd(&rig);
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const UniqueFd deaf(ends[1]);
  ASSERT_EQ(shutdown(deaf.get(), SHUT_RD), 0);
  SpawnedSupervisor idle{.pid = getpid(), .socket = UniqueFd(ends[0])};
  idle.listener = rig.spec.workdir + "/listener";
  ASSERT_OK(WriteFileAtomically(idle.listener, ""));
  rig.Spawner().Keep(std::move(idle), rig.loop.clock().Get().mono);
  rig.RemoveFiles();
  rig.events.clear();
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
  EXPECT_NE(rig.supervisor_pid(), getpid());
  EXPECT_FALSE(std::filesystem::exists(rig.spec.workdir + "/listener"));
}

TEST(HearIdleTest, WhatIsLeftOfTheAttemptIsPassedOver) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  EXPECT_FALSE(HearIdle(ours.get(), 0));
  EXPECT_FALSE(HearIdle(ours.get(), 1));
  const std::string last = Encode(SupervisorEvent(AllGone{}));
  ASSERT_GT(send(theirs.get(), last.data(), last.size(), 0), 0);
  SayIdle(theirs.get());
  EXPECT_TRUE(HearIdle(ours.get(), 0));
  EXPECT_FALSE(HearIdle(ours.get(), 0));
  ASSERT_GT(send(theirs.get(), last.data(), last.size(), 0), 0);
  theirs.Reset();
  EXPECT_FALSE(HearIdle(ours.get(), 60'000));
}

TEST(HearIdleTest, WhoTalksOnAndOnIsNotIdle) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
  const UniqueFd ours(ends[0]), theirs(ends[1]);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(send(theirs.get(), "more", 4, 0), 4);
  SayIdle(theirs.get());
  EXPECT_FALSE(HearIdle(ours.get(), 60'000));
}

TEST(SupervisorSpawnerTest, AProgramOfAnotherVersionIsRefused) {
  AttemptRig rig;
  rig.AddShell("exit 0");
  rig.program = rig.spec.workdir + "/supervisor";
  ASSERT_OK(WriteFileAtomically(
      rig.program, "#!/bin/sh\nexec " HPC_SUPERVISOR_PROGRAM " --fork-server other \"$3\"\n"));
  ASSERT_EQ(chmod(rig.program.c_str(), 0700), 0);
  EXPECT_THAT(rig.Launch(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(std::string("version (") + Version() + "): restart the worker")));
  // The next try is not hindered.
  rig.program = HPC_SUPERVISOR_PROGRAM;
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
}

// Supervisors of another account serve one attempt after the other.
class ServingOnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root starts processes of other accounts";
    rig_.account = AccountIds{65534, 65534, {65534}};
    rig_.AddShell("exit 0");
    ASSERT_NO_FATAL_FAILURE(Run());
    if (RecordedHeldCgroup(rig_.spec.dir).empty()) GTEST_SKIP() << "no cgroup can be had here";
    first_dir_ = rig_.spec.dir;
    pid_ = rig_.supervisor_pid();
  }
  void Run() {
    rig_.Spawn();
    rig_.Start();
    rig_.RunUntilAllGone();
  }
  void StartSleeper() {
    rig_.AddShell("exec sleep 1000");
    rig_.Spawn();
    rig_.Start();
    rig_.RunUntil("the start", [&] { return rig_.Saw<RankStarted>(); });
  }
  // The first supervisor keeps something for attempts of that command.
  void KeepFor(const std::string& command) {
    auto left = rig_.client->Release();
    rig_.client.reset();
    ASSERT_TRUE(left && HearIdle(left->socket.get(), 20'000));
    left->command = command;
    rig_.Spawner().Keep(*std::move(left), MonoTime::Infinite());
  }
  auto SpawnFor(const std::string& command) {
    return rig_.Spawner().Spawn(rig_.account, rig_.spec.cgroup_parent, /*scoped=*/false, command);
  }
  bool Lives(int64_t pid) const {
    const auto process = ReadProcessStat(pid);
    return process && !process->Ended();
  }

  AttemptRig rig_;
  std::string first_dir_;
  int64_t pid_ = 0;
};

TEST_F(ServingOnTest, OneWhoseAttemptHasLeftNothingServesTheNext) {
  rig_.BeginNext("13.1");
  rig_.AddShell("echo out; echo err >&2; echo $HPC_METRICS_FILE; exit 7");
  Run();
  EXPECT_EQ(rig_.supervisor_pid(), pid_);
  EXPECT_EQ(WEXITSTATUS(rig_.ExitOf(0).wait_status), 7);
  EXPECT_EQ(rig_.FileOf("rank-0.out"), "out\n" + rig_.spec.dir + "/metrics.jsonl\n");
  EXPECT_EQ(rig_.FileOf("rank-0.err"), "err\n");
  EXPECT_EQ(rig_.All<SupervisorReady>()[0].containment, "cgroup");
  const auto journal = ReadJournal(rig_.spec.dir);
  ASSERT_OK(journal);
  EXPECT_THAT(std::get<RankExited>(journal->at(2)).wait_status, 7 << 8);
  EXPECT_THAT(ReadJournal(first_dir_).value(), SizeIs(journal->size()));
}

TEST_F(ServingOnTest, ManyAttemptsLeaveNothingOpen) {
  const std::string open_files = "/proc/" + std::to_string(pid_) + "/fd";
  // Counts what the supervisor has open while it has no attempt.
  const auto count = [&] {
    rig_.RunUntil("it to wait", [&] { return SupervisorTitle(pid_) == kIdleTitle; });
    return std::distance(std::filesystem::directory_iterator(open_files), {});
  };
  const auto opened = count();
  for (int i = 0; i < 30; ++i) {
    rig_.BeginNext("13." + std::to_string(i));
    rig_.AddShell("echo out; exit 3");
    ASSERT_NO_FATAL_FAILURE(Run());
    ASSERT_EQ(rig_.supervisor_pid(), pid_);
  }
  EXPECT_EQ(count(), opened);
}

TEST_F(ServingOnTest, TheListOfProcessesShowsWhichAttemptItHas) {
  rig_.RunUntil("it to wait", [&] { return SupervisorTitle(pid_) == kIdleTitle; });
  rig_.BeginNext("13.1");
  StartSleeper();
  EXPECT_EQ(SupervisorTitle(pid_), rig_.spec.dir);
  rig_.Send(StopRanks{});
  rig_.RunUntilAllGone();
}

TEST_F(ServingOnTest, ItsCgroupShowsWhichAttemptItHasWhateverItsRanksLookLike) {
  rig_.BeginNext("13.1");
  rig_.AddRank({"/bin/bash", "-c", "exec -a hpc-supervisor sleep 1000"});
  rig_.Spawn();
  rig_.Start();
  rig_.RunUntil("the rank", [&] {
    return rig_.Saw<RankStarted>() &&
           SupervisorTitle(rig_.All<RankStarted>()[0].pid).value_or("") == "1000";
  });
  const std::string cgroup = RecordedHeldCgroup(rig_.spec.dir);
  std::ofstream(cgroup + "/cgroup.procs") << rig_.All<RankStarted>()[0].pid << std::flush;
  EXPECT_THAT(Numbers(ReadSmallFile(AT_FDCWD, cgroup + "/cgroup.procs").value_or("")), SizeIs(2));
  EXPECT_THAT(TitlesIn(cgroup), ElementsAre(rig_.spec.dir));
  rig_.Send(StopRanks{});
  rig_.RunUntilAllGone();
}

TEST_F(ServingOnTest, NobodyFindsItByTheAttemptBefore) {
  rig_.BeginNext("13.1");
  StartSleeper();
  EXPECT_FALSE(HasSupervisor(first_dir_));
  EXPECT_THAT(SupervisorClient::Attach(&rig_.loop, first_dir_, rig_.Callbacks()),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(first_dir_)));
  rig_.DropClient();
  rig_.Attach();
  rig_.Send(StopRanks{});
  rig_.RunUntilAllGone();
}

TEST_F(ServingOnTest, WhoEndsWhatTheAttemptBeforeHasLeftEndsNothingOfTheNext) {
  rig_.BeginNext("13.1");
  StartSleeper();
  EXPECT_OK(KillLeftovers("12.2", first_dir_, {}));
  EXPECT_TRUE(Lives(pid_));
  EXPECT_TRUE(Lives(rig_.All<RankStarted>()[0].pid));
  EXPECT_OK(KillLeftovers("13.1", rig_.spec.dir, {}));
  rig_.RunUntil("the loss", [&] { return !rig_.losses.empty(); });
  EXPECT_FALSE(Lives(rig_.All<RankStarted>()[0].pid));
}

TEST_F(ServingOnTest, ALaterAttemptIsStoppedAsAFirstOne) {
  rig_.BeginNext("13.1");
  StartSleeper();
  rig_.Send(StopRanks{.grace_ms = 5000, .reason = "cancelled"});
  rig_.RunUntilAllGone();
  EXPECT_EQ(rig_.supervisor_pid(), pid_);
  EXPECT_TRUE(rig_.ExitOf(0).after_stop);
  EXPECT_GT(rig_.All<AllGone>()[0].kill_ns, 0);
  // The next attempt is not stopped.
  rig_.BeginNext("14.1");
  rig_.AddShell("exit 3");
  Run();
  EXPECT_EQ(rig_.supervisor_pid(), pid_);
  EXPECT_EQ(rig_.ExitOf(0).wait_status, 3 << 8);
  EXPECT_FALSE(rig_.ExitOf(0).after_stop);
  EXPECT_EQ(rig_.All<AllGone>()[0].kill_ns, 0);
}

TEST_F(ServingOnTest, OneThatWasItselfToldToEndDoesNot) {
  rig_.BeginNext("13.1");
  StartSleeper();
  kill(static_cast<pid_t>(pid_), SIGTERM);
  rig_.RunUntilAllGone();
  EXPECT_EQ(rig_.supervisor_pid(), pid_);
  rig_.RunUntil("its end", [&] { return !Lives(pid_); });
}

TEST_F(ServingOnTest, OneWhoseCgroupWasKilledDoesNot) {
  rig_.BeginNext("13.1");
  rig_.AddShell("setsid sleep 1000 & exit 3");
  Run();
  EXPECT_EQ(rig_.supervisor_pid(), pid_);
  EXPECT_GE(rig_.All<AllGone>()[0].killed, 1);
  rig_.RunUntil("its end", [&] { return !Lives(pid_); });
  rig_.BeginNext("14.1");
  rig_.AddShell("exit 0");
  Run();
  EXPECT_EQ(rig_.ExitOf(0).wait_status, 0);
}

TEST_F(ServingOnTest, OneWhoseAttemptLackedSomethingDoesNot) {
  rig_.BeginNext("13.1");
  ASSERT_OK(MakeDirs(rig_.spec.dir, 0700));
  if (mount("tmpfs", rig_.spec.dir.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "may not mount";
  }
  const std::string full = rig_.spec.dir;
  rig_.AddShell("head -c 1000000 /dev/zero");
  Run();
  EXPECT_EQ(rig_.supervisor_pid(), pid_);
  EXPECT_TRUE(rig_.Saw<Shortage>());
  rig_.RunUntil("its end", [&] { return !Lives(pid_); });
  rig_.BeginNext("14.1");
  EXPECT_EQ(umount2(full.c_str(), MNT_DETACH), 0);
  rig_.AddShell("exit 0");
  Run();
  EXPECT_NE(rig_.supervisor_pid(), pid_);
}

TEST_F(ServingOnTest, OneWhoseSchedulingARankHasChangedDoesNot) {
  std::vector<std::string> changes = {"renice -n 19 -p $PPID", "chrt --idle -p 0 $PPID"};
  cpu_set_t cpus;
  ASSERT_EQ(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
  int first = 0;
  while (!CPU_ISSET(first, &cpus)) ++first;
  if (CPU_COUNT(&cpus) > 1) changes.push_back(absl::StrCat("taskset -cp ", first, " $PPID"));
  for (const std::string& change : changes) {
    SCOPED_TRACE(change);
    const int64_t before = pid_;
    rig_.BeginNext("13." + std::to_string(pid_));
    rig_.AddShell(change);
    Run();
    EXPECT_EQ(rig_.supervisor_pid(), before);
    ASSERT_EQ(rig_.ExitOf(0).wait_status, 0);
    rig_.RunUntil("its end", [&] { return !Lives(before); });
    rig_.BeginNext("14." + std::to_string(pid_));
    rig_.AddShell("echo $(nice) $(chrt -p $$ | head -n 1)");
    Run();
    EXPECT_NE(rig_.supervisor_pid(), before);
    EXPECT_THAT(rig_.FileOf("rank-0.out"), AllOf(StartsWith("0 "), HasSubstr("SCHED_OTHER")));
    pid_ = rig_.supervisor_pid();
  }
}

TEST_F(ServingOnTest, OneThatEndedMeanwhileIsReplaced) {
  rig_.BeginNext("13.1");
  kill(static_cast<pid_t>(pid_), SIGKILL);
  // Waits for the end of all its threads; before that its socket takes orders.
  rig_.RunUntil("its end", [&] { return !ReadProcessStat(pid_); });
  rig_.AddShell("exit 0");
  Run();
  EXPECT_NE(rig_.supervisor_pid(), pid_);
}

TEST_F(ServingOnTest, WhileItWaitsSigtermEndsIt) {
  rig_.BeginNext("13.1");
  rig_.RunUntil("it to wait", [&] { return SupervisorTitle(pid_) == kIdleTitle; });
  kill(static_cast<pid_t>(pid_), SIGTERM);
  rig_.RunUntil("its end", [&] { return !Lives(pid_); });
}

TEST_F(ServingOnTest, OneOfAnotherAccountDoesNot) {
  rig_.BeginNext("13.1");
  rig_.account = AccountIds{65532, 65532, {65532}};
  rig_.AddShell("id -u");
  Run();
  EXPECT_NE(rig_.supervisor_pid(), pid_);
  EXPECT_EQ(rig_.FileOf("rank-0.out"), "65532\n");
}

TEST_F(ServingOnTest, OneThatHasWaitedLongEndsAndLeavesNothing) {
  const std::string cgroup = RecordedHeldCgroup(first_dir_);
  rig_.BeginNext("13.1");
  const MonoTime now = rig_.loop.clock().Get().mono;
  EXPECT_TRUE(rig_.Spawner().EndIdle(now)) << "it waits on";
  EXPECT_TRUE(Lives(pid_));
  EXPECT_FALSE(rig_.Spawner().EndIdle(now + absl::Hours(1)));
  rig_.RunUntil("its end", [&] { return !Lives(pid_); });
  EXPECT_NE(access(cgroup.c_str(), F_OK), 0);
  EXPECT_THAT(NamesIn(rig_.spec.workdir + "/supervisors").value(), IsEmpty());
}

TEST_F(ServingOnTest, OneThatKeepsSomethingForAnotherCommandWaitsOn) {
  ASSERT_NO_FATAL_FAILURE(KeepFor("python train.py"));
  auto other = SpawnFor("python other.py");
  ASSERT_OK(other);
  EXPECT_NE(other->pid, pid_);
  auto same = SpawnFor("python train.py");
  ASSERT_OK(same);
  EXPECT_EQ(same->pid, pid_);
  SupervisorSpawner::End(*std::move(other));
  SupervisorSpawner::End(*std::move(same));
}

TEST_F(ServingOnTest, OnlyTwoKeepSomethingAndTheOldestEndsFirst) {
  ASSERT_NO_FATAL_FAILURE(KeepFor("first"));
  for (const char* command : {"second", "third"}) {
    auto made = SpawnFor(command);
    ASSERT_OK(made);
    made->command = command;
    EXPECT_TRUE(Lives(pid_));
    rig_.Spawner().Keep(*std::move(made), MonoTime::Infinite());
  }
  rig_.RunUntil("the end of the oldest", [&] { return !Lives(pid_); });
  EXPECT_FALSE(rig_.Spawner().EndIdle(MonoTime::Infinite()));
}

TEST_F(ServingOnTest, ItEndsWithItsWorker) {
  rig_.BeginNext("13.1");
  rig_.program = "/no/such/program";  // a new spawner; the old one goes first
  rig_.Spawner();
  rig_.RunUntil("its end", [&] { return !Lives(pid_); });
}

}  // namespace
}  // namespace hpc::worker
