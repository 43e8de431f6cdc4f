// The process that makes supervisors: it may end, stand still, or be of another version.
#include "worker/supervisor/spawn.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "common/files.h"
#include "common/status_matchers.h"
#include "common/version.h"
#include "worker/supervisor/attempt_rig.h"
#include "worker/supervisor/process_stat.h"
#include "worker/supervisor/small_file.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The processes of this program that make supervisors: its children.
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
  rig.program = "/no/such/program";  // another spawner: the first one goes
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
  // But 0 to 2, and what it reads the list with.
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
  // And nothing is in the way of the next try.
  rig.program = HPC_SUPERVISOR_PROGRAM;
  rig.Spawn();
  rig.Start();
  rig.RunUntilAllGone();
}

TEST(SupervisorSpawnerTest, ACgroupThatIsNotThereIsNamed) {
  AttemptRig rig;
  EXPECT_THAT(rig.Spawner().Spawn({.dir = rig.spec.dir,
                                   .spec = Encode(rig.spec),
                                   .account = {},
                                   .cgroup = "/no/such/cgroup",
                                   .journal = 0,
                                   .listener = 0}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/cgroup")));
}

}  // namespace
}  // namespace hpc::worker
