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

FileKind Look(const std::string& path) {
  static const std::map<std::string, FileKind> kFiles = {
      {"/usr/bin/python3", FileKind::kExecutable},
      {"/work/train.sh", FileKind::kExecutable},
      {"/work/./train.sh", FileKind::kExecutable},
      {"/work/./train.py", FileKind::kNotExecutable},
      {"/opt/bin/python3", FileKind::kNotExecutable},
      {"/work/data", FileKind::kDirectory},
      {"/usr/bin/data", FileKind::kDirectory},
      {"/root/bin/python3", FileKind::kHidden},
  };
  const auto it = kFiles.find(path);
  return it == kFiles.end() ? FileKind::kMissing : it->second;
}

absl::StatusOr<std::string> Resolve(const std::string& command, const std::string& path) {
  return ResolveCommand("pc2", "hpc", command, "/work", path, &Look);
}

TEST(CommandCheckTest, FindsAProgramInPath) {
  EXPECT_EQ(*Resolve("python3", "/bin:/usr/bin"), "/usr/bin/python3");
}

TEST(CommandCheckTest, SkipsWhatCannotBeExecutedLikeAShellDoes) {
  EXPECT_EQ(*Resolve("python3", "/opt/bin:/usr/bin"), "/usr/bin/python3");
}

TEST(CommandCheckTest, ANameWithASlashIsRelativeToTheWorkingDirectory) {
  EXPECT_EQ(*Resolve("./train.sh", ""), "/work/./train.sh");
  EXPECT_EQ(*Resolve("/work/train.sh", ""), "/work/train.sh");
}

TEST(CommandCheckTest, AnEmptyEntryOfPathIsTheWorkingDirectory) {
  EXPECT_EQ(*Resolve("train.sh", "/bin:"), "/work/train.sh");
}

TEST(CommandCheckTest, NamesTheNodeTheCommandAndWhereItLooked) {
  EXPECT_THAT(Resolve("pyhton", "/bin:/usr/bin"),
              StatusIs(absl::StatusCode::kNotFound,
                       "pc2: command 'pyhton' was not found in PATH /bin:/usr/bin"));
  EXPECT_THAT(Resolve("./missing", ""), StatusIs(absl::StatusCode::kNotFound,
                                                 "pc2: command '/work/./missing' does not exist"));
  EXPECT_THAT(Resolve("", "/bin"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("empty")));
}

TEST(CommandCheckTest, SaysWhyAFileCannotBeExecuted) {
  EXPECT_THAT(Resolve("./train.py", ""),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("/work/./train.py"), HasSubstr("not executable"))));
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
