#include "worker/os/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

absl::StatusOr<CommandResult> Shell(std::string script, absl::Duration limit = absl::Seconds(30)) {
  return RunCommand({.program = "/bin/sh",
                     .argv = {"sh", "-c", std::move(script)},
                     .env = {"WORD=hello"},
                     .limit = limit});
}

TEST(RunCommand, GathersBothStreamsInOrder) {
  auto result = Shell("echo one; echo two >&2; echo three");
  ASSERT_OK(result);
  EXPECT_TRUE(result->ok());
  EXPECT_EQ(result->output, "one\ntwo\nthree\n");
  EXPECT_EQ(result->LastWords(), "three");
}

TEST(RunCommand, GivesTheEnvironmentAndNothingElse) {
  auto result = Shell("pwd; echo $WORD; echo $HOME; cat; ls /proc/self/fd | wc -l");
  ASSERT_OK(result);
  // The fourth descriptor is the folder that ls itself reads.
  EXPECT_EQ(result->output, "/\nhello\n\n4\n");
}

TEST(RunCommand, SaysHowTheProgramEnded) {
  EXPECT_EQ(Shell("exit 3")->HowItEnded(), "exit code 3");
  EXPECT_EQ(Shell("kill -TERM $$")->HowItEnded(), "signal 15 (Terminated)");
  EXPECT_FALSE(Shell("exit 3")->ok());
}

TEST(RunCommand, DoesNotWaitForWhatTheProgramLeavesBehind) {
  auto result = Shell("sleep 60 & echo $!");
  ASSERT_OK(result);
  EXPECT_TRUE(result->ok());
  kill(std::stoi(result->output), SIGKILL);
}

TEST(RunCommand, KillsTheWholeGroupAtTheLimit) {
  EXPECT_THAT(Shell("sleep 60 & sleep 60", absl::Milliseconds(50)),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("/bin/sh"), HasSubstr("50 ms"))));
}

TEST(RunCommand, KeepsAtMostAMebibyteOfOutput) {
  auto result = Shell("head -c 3000000 /dev/zero");
  ASSERT_OK(result);
  EXPECT_TRUE(result->ok());
  EXPECT_THAT(result->output, SizeIs(1 << 20));
}

TEST(RunCommand, NamesAProgramThatCannotBeStarted) {
  EXPECT_THAT(RunCommand({.program = "/no/such", .argv = {"such"}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such")));
}

TEST(LastWords, AreValidUtf8AndNotBlank) {
  EXPECT_EQ(CommandResult{.output = "a\nb\xff  \n \n\n"}.LastWords(), "b\xEF\xBF\xBD");
  EXPECT_EQ(CommandResult{}.LastWords(), "");
}

}  // namespace
}  // namespace hpc::worker
