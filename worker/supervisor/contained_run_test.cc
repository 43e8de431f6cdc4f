#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/os/run_command.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

Command Contained(const std::vector<std::string>& argv) {
  Command command{.program = HPC_SUPERVISOR_PROGRAM,
                  .argv = {"hpc-supervisor", "--run", argv[0]},
                  .env = OwnEnvironment()};
  command.argv.insert(command.argv.end(), argv.begin(), argv.end());
  return command;
}

Command Shell(const std::string& script) { return Contained({"/bin/sh", "-c", script}); }

bool Lives(const std::string& pid) { return kill(std::stoi(pid), 0) == 0; }

TEST(ContainedRunTest, EndsAsTheProgramDid) {
  EXPECT_EQ(RunCommand(Shell("echo said; exit 3"))->HowItEnded(), "exit code 3");
  EXPECT_THAT(RunCommand(Shell("kill -SEGV $$"))->HowItEnded(), HasSubstr("signal 11"));
  const auto missing = RunCommand(Contained({"/nonexistent"}));
  EXPECT_EQ(missing->HowItEnded(), "exit code 127");
  EXPECT_EQ(missing->LastWords(), "/nonexistent: No such file or directory");
}

TEST(ContainedRunTest, EndsAsTheProgramDidOfAnotherAccount) {
  if (geteuid() != 0) GTEST_SKIP() << "only root starts processes of other accounts";
  Command command = Shell("id -u; exit 3");
  command.argv.insert(command.argv.begin() + 1, {"--as", "65534:65534:65534"});
  const auto result = RunCommand(command);
  EXPECT_EQ(result->HowItEnded(), "exit code 3");
  EXPECT_EQ(result->output, "65534\n");
}

TEST(ContainedRunTest, WhatTheProgramLeavesBehindDiesWithIt) {
  const auto result = RunCommand(Shell("setsid sleep 1000 >/dev/null 2>&1 & echo $!"));
  ASSERT_OK(result);
  EXPECT_TRUE(result->ok());
  EXPECT_FALSE(Lives(result->LastWords()));
}

TEST(ContainedRunTest, OneThatDoesNotEndIsKilledWithAllThatItStarted) {
  char folder[] = "/tmp/hpc-contained-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string pid = absl::StrCat(folder, "/pid");
  Command command =
      Shell(absl::StrCat("trap '' TERM; setsid sleep 1000 & echo $! >", pid, "; exec sleep 1000"));
  command.limit = absl::Milliseconds(300);
  EXPECT_THAT(RunCommand(command), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("300")));
  EXPECT_FALSE(Lives(ReadFile(pid).value()));
  EXPECT_OK(RemoveTree(folder));
}

}  // namespace
}  // namespace hpc::worker
