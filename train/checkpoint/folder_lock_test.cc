// Only one training at a time may use a folder of checkpoints.
#include "train/checkpoint/folder_lock.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "train/checkpoint/checkpoint_manifest.h"

namespace hpc::train {
namespace {

using ::testing::HasSubstr;

class FolderLockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "folder-lock-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { (void)RemoveTree(folder_); }

  // Returns the error; "" means that it may write there.
  std::string ErrorOf(const FolderUser& user) {
    try {
      return FolderLock(folder_, user).warning();
    } catch (const CheckpointError& error) {
      return error.what();
    }
  }

  std::string folder_;
};

TEST_F(FolderLockTest, ASecondTrainingIsRefusedUntilTheFirstLeaves) {
  {
    const FolderLock held(folder_, {.start = "a", .run = "run-7"});
    EXPECT_EQ(held.warning(), "");
    const std::string error = ErrorOf({.start = "b"});
    EXPECT_THAT(error, HasSubstr(absl::StrCat("into ", folder_, ": process ", getpid(), " on ")));
    EXPECT_THAT(error, HasSubstr(" of run run-7 holds "));
    EXPECT_THAT(error, HasSubstr("--checkpoint-dir"));
  }
  EXPECT_EQ(ErrorOf({.start = "b"}), "");
}

TEST_F(FolderLockTest, RanksOfOneStartAndTheNextAttemptsOfARunMayBoth) {
  const FolderLock held(folder_, {.start = "a", .run = "run-7", .restarts = 1});
  EXPECT_EQ(ErrorOf({.start = "a"}), "");
  EXPECT_EQ(ErrorOf({.start = "b", .run = "run-7", .restarts = 2}), "");
  EXPECT_NE(ErrorOf({.start = "b", .run = "run-7", .restarts = 1}), "") << "started twice";
  EXPECT_NE(ErrorOf({.start = "b", .run = "run-7", .restarts = 0}), "") << "the one before";
  EXPECT_NE(ErrorOf({.start = "b", .run = "run-8", .restarts = 2}), "");
}

TEST_F(FolderLockTest, RunsWithoutANameAreNotOneRun) {
  const FolderLock held(folder_, {.start = "a"});
  EXPECT_NE(ErrorOf({.start = "b", .restarts = 1}), "");
}

TEST_F(FolderLockTest, WhoIsKilledHoldsItNoMore) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FolderLock held(folder_, {.start = "a"});
    if (write(ends[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  char held = 0;
  EXPECT_EQ(read(ends[0], &held, 1), 1);
  EXPECT_THAT(ErrorOf({.start = "b"}), HasSubstr(absl::StrCat("process ", child, " on ")));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(ErrorOf({.start = "b"}), "");
}

TEST_F(FolderLockTest, WhereItCannotBeLockedThatIsAWarning) {
  ASSERT_EQ(mkdir((folder_ + "/.lock").c_str(), 0755), 0);
  EXPECT_THAT(ErrorOf({.start = "a"}),
              HasSubstr("/.lock cannot be locked (open: Is a directory): if another training"));
}

TEST_F(FolderLockTest, AFileOfAnotherKindIsNoReasonToLetASecondTrainingIn) {
  const FolderLock held(folder_, {.start = "a"});
  {
    std::unique_ptr<FILE, int (*)(FILE*)> file(fopen((folder_ + "/.lock").c_str(), "w"), &fclose);
    fputs("b\n\n", file.get());
  }
  EXPECT_THAT(ErrorOf({.start = "b"}), HasSubstr("a process that does not say who it is holds "));
}

}  // namespace
}  // namespace hpc::train
