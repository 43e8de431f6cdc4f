#include "worker/core/command_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "common/status_matchers.h"

namespace hpc::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::StatusIs;

const std::string kProgram(
    "\x7f"
    "ELF\x02\x01\0",
    7);

FileFacts Look(const std::string& path) {
  static const std::map<std::string, FileFacts> kFiles = {
      {"/usr/bin/python3", {FileKind::kExecutable, kProgram}},
      {"/bin/sh", {FileKind::kExecutable, std::nullopt}},  // it may not be read
      {"/work/train.sh", {FileKind::kExecutable, "#!/bin/sh\necho\n"}},
      {"/work/../work/train.sh", {FileKind::kExecutable, "#!/bin/sh\necho\n"}},
      {"/work/spaced.py", {FileKind::kExecutable, "#! \t/usr/bin/python3 -u\n"}},
      {"/work/relative.py", {FileKind::kExecutable, "#!./own-python"}},
      {"/work/own-python", {FileKind::kExecutable, kProgram}},
      {"/work/bare.py", {FileKind::kExecutable, "import torch\n"}},
      {"/work/bare.sh", {FileKind::kExecutable, "echo\n"}},
      {"/work/empty", {FileKind::kExecutable, ""}},
      {"/work/nobody", {FileKind::kExecutable, "#!\n"}},
      {"/work/windows.sh", {FileKind::kExecutable, "#!/bin/sh\r\necho\r\n"}},
      {"/work/windows.py", {FileKind::kExecutable, "#!/usr/bin/env python3\r\nprint()\r\n"}},
      {"/work/lost.py", {FileKind::kExecutable, "#!/opt/gone/python\n"}},
      {"/work/odd.py", {FileKind::kExecutable, "#!/opt/bin/python3\n"}},
      {"/work/train.py", {FileKind::kNotExecutable, {}}},
      {"/opt/bin/python3", {FileKind::kNotExecutable, {}}},
      {"/work/data", {FileKind::kDirectory, {}}},
      {"/usr/bin/data", {FileKind::kDirectory, {}}},
      {"/root/bin/python3", {FileKind::kHidden, {}}},
      // Nobody knows what is in a closed folder, so this is the answer to every path in it.
      {"/root/bin/python", {FileKind::kHidden, {}}},
      {"/root/bin/python3 x.py", {FileKind::kHidden, {}}},
      {"/root/bin/hidden.py", {FileKind::kHidden, {}}},
      {"/work/hidden.py", {FileKind::kNotExecutable, {}}},
  };
  const auto it = kFiles.find(path);
  return it == kFiles.end() ? FileFacts{} : it->second;
}

absl::StatusOr<std::string> Resolve(const std::string& command, const std::string& path) {
  return ResolveCommand("pc2", "hpc", command, "/work", path, &Look);
}

TEST(CommandCheckTest, CutsALongPathSoThatTheRemedyIsSeen) {
  std::string path = "/bin";
  for (int i = 0; i < 1000; ++i) path += ":/opt/folder" + std::to_string(i);
  const std::string words(Resolve("pyhton", path).status().message());
  EXPECT_LT(words.size(), 700);
  EXPECT_THAT(words, AllOf(HasSubstr("PATH (/bin:/opt/folder0:"), HasSubstr(" bytes more): ")));
}

TEST(CommandCheckTest, FindsAProgramInPath) {
  EXPECT_EQ(*Resolve("python3", "/bin:/usr/bin"), "/usr/bin/python3");
}

TEST(CommandCheckTest, SkipsWhatCannotBeExecutedLikeAShellDoes) {
  EXPECT_EQ(*Resolve("python3", "/opt/bin:/usr/bin"), "/usr/bin/python3");
}

TEST(CommandCheckTest, ANameWithASlashIsRelativeToTheWorkingDirectory) {
  EXPECT_EQ(*Resolve("./train.sh", ""), "/work/train.sh");
  EXPECT_EQ(*Resolve("../work//train.sh", ""), "/work/../work/train.sh");
  EXPECT_EQ(*Resolve("/work/./train.sh", ""), "/work/train.sh");
}

TEST(CommandCheckTest, AnEmptyEntryOfPathIsTheWorkingDirectory) {
  EXPECT_EQ(*Resolve("train.sh", "/bin:"), "/work/train.sh");
}

TEST(CommandCheckTest, NamesTheNodeTheCommandAndWhereItLooked) {
  EXPECT_THAT(Resolve("pyhton", "/bin:/usr/bin"),
              StatusIs(absl::StatusCode::kNotFound,
                       "pc2: command 'pyhton' was not found in PATH (/bin:/usr/bin): install it, "
                       "name its whole path, or set another PATH (--env PATH=..., or for all runs "
                       "in that node's /etc/default/hpc-worker)"));
  EXPECT_THAT(Resolve("./missing", ""),
              StatusIs(absl::StatusCode::kNotFound, "pc2: command '/work/missing' does not exist"));
  EXPECT_THAT(Resolve("", "/bin"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("empty")));
}

TEST(CommandCheckTest, SaysWhyAFileCannotBeExecuted) {
  EXPECT_THAT(Resolve("./train.py", ""),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("/work/train.py"), HasSubstr("not executable"))));
  EXPECT_THAT(Resolve("/work/data", ""),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("is a folder")));
  EXPECT_THAT(Resolve("python3", "/opt/bin"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("/opt/bin/python3")));
}

TEST(CommandCheckTest, SaysWhichAccountMayNot) {
  EXPECT_THAT(Resolve("./train.py", ""), StatusIs(absl::StatusCode::kPermissionDenied,
                                                  HasSubstr("not executable by the account hpc")));
  EXPECT_THAT(Resolve("/root/bin/python3", ""),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("may not be reached by the account hpc")));
  EXPECT_THAT(Resolve("python3", "/bin:/root/bin"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("/root/bin may not be entered by the account hpc")));
  EXPECT_EQ(*Resolve("python3", "/root/bin:/usr/bin"), "/usr/bin/python3");
  EXPECT_EQ(ByAccount(""), "");
}

TEST(CommandCheckTest, FollowsTheInterpreterThatAScriptNames) {
  EXPECT_OK(Resolve("./spaced.py", ""));
  EXPECT_OK(Resolve("./relative.py", ""));
}

TEST(CommandCheckTest, SaysWhyTheKernelWouldNotExecuteAText) {
  const std::vector<std::pair<const char*, const char*>> refused = {
      {"bare.py",
       "pc2: '/work/bare.py' has no #! line that names its interpreter: put python in front"},
      {"bare.sh", "put bash in front"},
      {"empty", "has no #! line"},
      {"nobody", "names no interpreter in its #! line: put its interpreter in front"},
      {"windows.sh",
       "has Windows line ends, so that '/bin/sh\\r' of its #! line is not found: "
       "sed -i 's/\\r$//' it"},
      {"windows.py", "'/usr/bin/env python3\\r' of its #! line"},
      {"lost.py",
       "wants the interpreter '/opt/gone/python', which does not exist there: name "
       "another in its #! line, or put python in front"},
      {"odd.py", "'/opt/bin/python3', which is not executable"},
  };
  for (const auto& [file, words] : refused) {
    EXPECT_THAT(Resolve(std::string("./") + file, ""),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(words)));
  }
  EXPECT_THAT(Resolve("bare.py", "/work"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("/work/bare.py")));
}

TEST(CommandCheckTest, SaysHowAScriptOfTheWorkingDirectoryIsNamed) {
  EXPECT_THAT(Resolve("train.py", "/bin"),
              StatusIs(absl::StatusCode::kNotFound,
                       "pc2: command 'train.py' was not found in PATH (/bin): it is in the working "
                       "directory: python train.py or ./train.py"));
  EXPECT_THAT(Resolve("train.sh", "/bin"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("directory: ./train.sh")));
}

TEST(CommandCheckTest, SaysThatPython3IsThere) {
  EXPECT_THAT(Resolve("python", "/bin:/usr/bin"),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("was not found in PATH (/bin:/usr/bin): 'python3' is there "
                                 "(/usr/bin/python3): name that one, or set another PATH")));
  EXPECT_THAT(Resolve("train.py", "/usr/bin"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(": python3 train.py or ./train.py")));
}

TEST(CommandCheckTest, AClosedFolderInPathHidesNoBetterReason) {
  const char* const path = "/root/bin:/usr/bin";
  EXPECT_THAT(Resolve("hidden.py", path),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("it is in the working directory")));
  EXPECT_THAT(Resolve("python", path),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("'python3' is there")));
  EXPECT_THAT(Resolve("python3 x.py", path),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("leave out the quotes")));
}

TEST(CommandCheckTest, AWholeCommandLineInQuotesIsNoCommand) {
  EXPECT_THAT(
      Resolve("python3 train.py", "/usr/bin"),
      StatusIs(absl::StatusCode::kNotFound,
               HasSubstr("was not found in PATH (/usr/bin): leave out the quotes around it (hpcctl "
                         "run -- python3 train.py)")));
  EXPECT_THAT(Resolve("./train.sh --lr 1", ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("leave out the quotes")));
}

TEST(CommandCheckTest, AFolderInPathIsNoProgram) {
  EXPECT_THAT(Resolve("data", "/usr/bin"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("was not found")));
}

TEST(CommandCheckTest, TakesWhatTheKernelTakes) {
  EXPECT_OK(CheckExecSize("pc2", {"python", "a.py"}, {"HOME=/root"}, 2 << 20));
}

TEST(CommandCheckTest, RefusesOneStringBeyondTheKernelsLimit) {
  EXPECT_THAT(
      CheckExecSize("pc2", {"python", "--list=" + std::string(128 << 10, 'x')}, {}, 2 << 20),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("--list="), HasSubstr("128 KiB"))));
}

TEST(CommandCheckTest, RefusesTooMuchInAll) {
  const std::vector<std::string> many(100, std::string(100 << 10, 'x'));
  EXPECT_THAT(CheckExecSize("pc2", many, {}, 2 << 20),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("pc2"), HasSubstr("at most 2.0 MiB"))));
}

}  // namespace
}  // namespace hpc::worker
