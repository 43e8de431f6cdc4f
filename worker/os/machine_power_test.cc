#include "worker/os/machine_power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "common/files/files.h"
#include "common/status_matchers.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

TEST(PowerCommand, RunsTheConfiguredCommandInAShell) {
  const std::string file = ::testing::TempDir() + "/power_command_ran";
  std::filesystem::remove(file);
  EXPECT_OK(PowerCommand("echo mem | tr a-z A-Z > " + file).Sleep());
  EXPECT_EQ(ReadFile(file).value(), "MEM\n");
}

TEST(PowerCommand, PassesOnWhatAFailingCommandSays) {
  EXPECT_THAT(PowerCommand("echo trying; echo 'Access denied' >&2; exit 4").Sleep(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "the power command \"echo trying; echo 'Access denied' >&2; exit 4\" failed "
                       "with exit code 4: Access denied"));
  EXPECT_THAT(PowerCommand("exit 1").Sleep(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "the power command \"exit 1\" failed with exit code 1"));
}

TEST(PowerCommand, NamesACommandThatDoesNotExist) {
  EXPECT_THAT(PowerCommand("no-such-power-command").Sleep(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("not found")));
}

TEST(PowerCommand, KnowsFromLogindWhetherThePcCanBeSuspended) {
  EXPECT_EQ(SleepTroubleOf(true, "s \"yes\"\n"), "");
  EXPECT_EQ(SleepTroubleOf(true, "s \"na\"\n"),
            "logind cannot suspend it: CanSuspend says s \"na\"");
  EXPECT_EQ(SleepTroubleOf(false, "Failed to connect to bus: No such file or directory"),
            "logind does not answer: Failed to connect to bus: No such file or directory");
  EXPECT_EQ(PowerCommand("exit 1").SleepTrouble(), "") << "of that nothing is known";
}

TEST(PowerCommand, GivesUpOnACommandThatDoesNotEnd) {
  EXPECT_THAT(PowerCommand("sleep 60", absl::Milliseconds(20)).Sleep(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("20 ms")));
}

// A fake busctl stands first on PATH and writes down its arguments.
TEST(PowerCommand, AsksLogindToSuspendByDefault) {
  const std::string dir = ::testing::TempDir() + "/power_bin";
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/busctl") << "#!/bin/sh\necho \"$@\" > " << dir << "/asked\n";
  std::filesystem::permissions(dir + "/busctl", std::filesystem::perms::owner_all);
  const std::string path = getenv("PATH");
  setenv("PATH", (dir + ":" + path).c_str(), 1);
  EXPECT_OK(PowerCommand("").Sleep());
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(ReadFile(dir + "/asked").value(),
            "call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager "
            "Suspend b false\n");
}

TEST(PowerCommand, KnowsAMachineThatGoesDownByWhatItsSystemSays) {
  EXPECT_TRUE(SaysGoingDown("stopping\nb true\nb false\n"));
  EXPECT_TRUE(SaysGoingDown("stopping\nFailed to get property: connection timed out\n"));
  EXPECT_TRUE(SaysGoingDown("running\nb true\nb false\n")) << "logind waits for inhibitors still";
  EXPECT_TRUE(SaysGoingDown("running\nb false\nb true\n")) << "it falls asleep";
  EXPECT_FALSE(SaysGoingDown("running\nb false\nb false\n"));
  EXPECT_FALSE(SaysGoingDown("degraded\nb false\nb false\n"));
  EXPECT_FALSE(SaysGoingDown("offline\nsh: 1: busctl: not found\n")) << "no systemd at all";
}

}  // namespace
}  // namespace hpc::worker
