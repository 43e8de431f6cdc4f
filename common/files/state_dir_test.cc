#include "common/files/state_dir.h"

#include <stdlib.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_matchers.h"

namespace hpc {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class StateDirTest : public ::testing::Test {
 protected:
  StateDirTest() {
    char pattern[] = "/tmp/hpc-state-dir-XXXXXX";
    root_ = mkdtemp(pattern);
  }
  ~StateDirTest() override { EXPECT_OK(RemoveTree(root_)); }
  std::string root_;
};

TEST_F(StateDirTest, MakesADirectoryThatIsMissing) {
  const auto dir = StateDir::Open(absl::StrCat(root_, "/a/b"), "worker");
  ASSERT_OK(dir);
  EXPECT_EQ(dir->path(), absl::StrCat(root_, "/a/b"));
  EXPECT_EQ(dir->File("x"), absl::StrCat(root_, "/a/b/x"));
}

TEST_F(StateDirTest, OpensAgainWhatItHasMade) {
  ASSERT_OK(StateDir::Open(root_, "worker"));
  ASSERT_OK(WriteFileAtomically(absl::StrCat(root_, "/data"), "x"));
  EXPECT_OK(StateDir::Open(root_, "worker"));
}

TEST_F(StateDirTest, RemovesWhatAnEarlierHolderWasWritingWhenItWasKilled) {
  ASSERT_OK(StateDir::Open(root_, "worker"));
  const std::string unfinished = absl::StrCat(root_, "/owner.json.4711.tmp");
  const std::string finished = absl::StrCat(root_, "/owner.json");
  ASSERT_OK(WriteFileAtomically(unfinished, "{"));
  ASSERT_OK(WriteFileAtomically(finished, "{}"));
  ASSERT_OK(StateDir::Open(root_, "worker"));
  EXPECT_NE(access(unfinished.c_str(), F_OK), 0);
  EXPECT_OK(ReadFile(finished));
}

TEST_F(StateDirTest, RefusesASecondHolderAndNamesTheFirst) {
  const auto first = StateDir::Open(root_, "worker");
  ASSERT_OK(first);
  EXPECT_THAT(StateDir::Open(root_, "worker"), StatusIs(absl::StatusCode::kAlreadyExists,
                                                        HasSubstr(absl::StrCat("pid ", getpid()))));
}

TEST_F(StateDirTest, RefusesAnotherKindsDirectory) {
  ASSERT_OK(StateDir::Open(root_, "coordinator"));
  EXPECT_THAT(StateDir::Open(root_, "worker"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("a coordinator")));
}

TEST_F(StateDirTest, LeavesADirectoryThatIsNotOursAsItWas) {
  ASSERT_OK(WriteFileAtomically(absl::StrCat(root_, "/thesis.tex"), "x"));
  EXPECT_THAT(StateDir::Open(root_, "worker"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(root_), HasSubstr("empty or a new directory"))));
  EXPECT_NE(access(absl::StrCat(root_, "/lock").c_str(), F_OK), 0);
}

TEST_F(StateDirTest, RefusesAFile) {
  const std::string file = absl::StrCat(root_, "/file");
  ASSERT_OK(WriteFileAtomically(file, "x"));
  EXPECT_THAT(StateDir::Open(file, "worker"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(file)));
}

TEST_F(StateDirTest, RefusesAnEmptyPath) {
  EXPECT_THAT(StateDir::Open("", "worker"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("empty")));
}

}  // namespace
}  // namespace hpc
