#include "client/cli/input/program_on_stdin.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "client/cli/input/usage_error.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"

namespace hpc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

TEST(ProgramOnStdinTest, InterpretersThatAreNotToldWhatToRunReadIt) {
  for (const Words& command :
       {Words{"python"}, Words{"/usr/bin/python3.11", "-u"}, Words{"python3", "-"},
        Words{"python", "-X", "dev", "-", "--lr", "1"}, Words{"bash"}, Words{"sh", "-s"},
        Words{"/bin/bash", "-e", "-o", "pipefail", "-s", "x"}, Words{"bash", "-ex"},
        Words{"env", "A=1", "python", "-"}, Words{"timeout", "60", "nice", "bash", "-s"},
        Words{"bash", "-es", "--", "a"}, Words{"bash", "+e", "-s", "--", "a"}}) {
    EXPECT_TRUE(ReadsProgram(command)) << ::testing::PrintToString(command);
  }
}

TEST(ProgramOnStdinTest, OtherCommandsDoNot) {
  for (const Words& command :
       {Words{}, Words{"cat"}, Words{"python", "train.py"}, Words{"python", "-c", "print(1)"},
        Words{"python", "-um", "train"}, Words{"python", "--version"}, Words{"bash", "train.sh"},
        Words{"bash", "-c", "python"}, Words{"bash", "-lc", "python"}, Words{"pythonic"},
        Words{"bash", "-", "a"}, Words{"env"}, Words{"env", "python", "x.py"}}) {
    EXPECT_FALSE(ReadsProgram(command)) << ::testing::PrintToString(command);
  }
}

TEST(ProgramOnStdinTest, TheProgramBecomesAnArgument) {
  EXPECT_THAT(WithProgram({"python"}, "print(1)"), ElementsAre("python", "-c", "print(1)"));
  EXPECT_THAT(WithProgram({"python3", "-u", "-", "--lr", "1"}, "x"),
              ElementsAre("python3", "-u", "-c", "x", "--lr", "1"));
  EXPECT_THAT(WithProgram({"bash", "-e"}, "exit 3"), ElementsAre("bash", "-e", "-c", "exit 3"));
  EXPECT_THAT(WithProgram({"/bin/sh", "-s", "a", "b"}, "echo $1"),
              ElementsAre("/bin/sh", "-c", "echo $1", "sh", "a", "b"));
  EXPECT_THAT(WithProgram({"bash", "-s", "--", "a", "b"}, "x"),
              ElementsAre("bash", "-c", "x", "bash", "a", "b"));
  EXPECT_THAT(WithProgram({"bash", "-s", "-e", "a"}, "x"),
              ElementsAre("bash", "-e", "-c", "x", "bash", "a"));
  EXPECT_THAT(WithProgram({"bash", "-es", "--", "-a"}, "x"),
              ElementsAre("bash", "-e", "-c", "x", "bash", "-a"));
  EXPECT_THAT(WithProgram({"env", "A=1", "timeout", "60", "python", "-", "a"}, "x"),
              ElementsAre("env", "A=1", "timeout", "60", "python", "-c", "x", "a"));
}

TEST(ProgramOnStdinTest, WhatReadsItBehindAnotherProgramIsNamed) {
  EXPECT_EQ(WordThatReadsInput({"./in_env.sh", "python", "-", "a"}), "python -");
  EXPECT_EQ(WordThatReadsInput({"./in_env.sh", "bash", "-s"}), "bash -s");
  EXPECT_EQ(WordThatReadsInput({"python", "/dev/stdin"}), "/dev/stdin");
  EXPECT_EQ(WordThatReadsInput({"python", "train.py", "-"}), "");
}

// What is read from a pipe that holds `text`.
absl::StatusOr<std::string> ReadFrom(const std::string& text) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
  EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  return ReadProgram({"python", "-"}, read_end.get());
}

TEST(ProgramOnStdinTest, ItIsReadToItsEnd) {
  EXPECT_EQ(*ReadFrom("print(1)\n"), "print(1)\n");
  EXPECT_EQ(ReadFrom(std::string((128 << 10) - 1, 'x'))->size(), (128 << 10) - 1);
}

TEST(ProgramOnStdinTest, WhatIsNoProgramIsRefused) {
  const UniqueFd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const auto nothing = ReadProgram({"python"}, null.get());
  EXPECT_TRUE(IsUsageError(nothing.status()));
  EXPECT_THAT(nothing.status().message(), HasSubstr("'hpcctl run -- python train.py'"));
  EXPECT_THAT(NoProgram({"bash"}).message(), HasSubstr("'hpcctl run -- bash train.sh'"));
  EXPECT_TRUE(IsUsageError(ReadFrom("").status()));
  EXPECT_TRUE(IsUsageError(ReadFrom("\xff").status()));
  EXPECT_THAT(ReadFrom(std::string(128 << 10, 'x')).status().message(), HasSubstr("longer than"));
}

TEST(HasInputTest, IsWhatAFileOrPipeStillHolds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_FALSE(HasInput(ends[0]));
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_TRUE(HasInput(ends[0]));
  FILE* const file = tmpfile();
  fputs("x", file);
  rewind(file);
  EXPECT_TRUE(HasInput(fileno(file)));
  lseek(fileno(file), 0, SEEK_END);
  EXPECT_FALSE(HasInput(fileno(file)));
  fclose(file);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace hpc::client
