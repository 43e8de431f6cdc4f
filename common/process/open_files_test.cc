#include "common/process/open_files.h"

#include <gtest/gtest.h>

namespace hpc {
namespace {

TEST(OpenFilesTest, AreRaisedToWhatTheAdministratorAllowsButNotForProgramsThatAreStarted) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 512 || before.rlim_max > kMostOpenFiles) {
    GTEST_SKIP() << "another hard limit";
  }
  const rlimit low{256, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  RaiseOpenFiles();
  rlimit raised{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  EXPECT_EQ(InheritedOpenFiles().rlim_cur, 256u);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace hpc
