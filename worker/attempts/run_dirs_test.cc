#include "worker/attempts/run_dirs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/status_matchers.h"
#include "worker/attempts/attempt_files.h"
#include "worker/supervisor_client/quick_file.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr absl::CivilDay kFirst(2026, 11, 1);

class RunDirsTest : public ::testing::Test {
 protected:
  // Makes what an attempt of run 12 has left here, with a checkpoint.
  void SetUp() override {
    protocol::Prepare prepare;
    prepare.ref = {12, 1};
    prepare.ranks = 1;
    ASSERT_OK(MakeAttemptFiles(dir_.path(), prepare, nullptr));
    dir_.Append("runs/12/checkpoints/step-10", "x");
  }
  void End() { ASSERT_OK(RemoveAttemptFiles(dir_.path(), {12, 1})); }
  void SweepOn(absl::CivilDay day, int32_t keep_days = 3) {
    RemoveOldRunDirs(dir_.path(), day, keep_days);
  }
  bool Kept() const { return access(dir_.File("runs/12/checkpoints/step-10").c_str(), F_OK) == 0; }

  const testing::TempDir dir_;
};

TEST_F(RunDirsTest, AFolderStaysForDaysAfterItsLastAttempt) {
  End();
  for (int day = 0; day <= 3; ++day) SweepOn(kFirst + day);
  EXPECT_TRUE(Kept());
  SweepOn(kFirst + 4);
  EXPECT_FALSE(Kept());
  EXPECT_NE(access(dir_.File("runs/12").c_str(), F_OK), 0);
}

TEST_F(RunDirsTest, WhatStaysIsSaidOnceADay) {
  End();
  const auto said = [&](absl::CivilDay day) {
    ::testing::internal::CaptureStderr();
    SweepOn(day);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said(kFirst), HasSubstr("folders=1 oldest_days=0 keep_days=3"));
  EXPECT_EQ(said(kFirst), "");
  EXPECT_THAT(said(kFirst + 1), HasSubstr("folders=1 oldest_days=1 keep_days=3"));
}

TEST_F(RunDirsTest, AnAttemptThatIsHereKeepsIt) {
  for (int day = 0; day <= 9; ++day) SweepOn(kFirst + day);
  End();
  for (int day = 10; day <= 12; ++day) SweepOn(kFirst + day);
  EXPECT_TRUE(Kept());
}

TEST_F(RunDirsTest, AClockThatJumpsMakesNothingOld) {
  End();
  SweepOn(kFirst);
  for (int hour = 0; hour < 24; ++hour) SweepOn(kFirst + 3650);
  SweepOn(kFirst);
  EXPECT_TRUE(Kept());
}

TEST_F(RunDirsTest, ForEverIsForEver) {
  End();
  for (int day = 0; day < 100; ++day) SweepOn(kFirst + day, /*keep_days=*/0);
  EXPECT_TRUE(Kept());
}

TEST_F(RunDirsTest, WithADamagedFileOfAgesAllAreYoung) {
  End();
  for (int day = 0; day <= 3; ++day) SweepOn(kFirst + day);
  for (const char* damaged :
       {"{", "[]", R"({"today": "x", "days": {"12": 2147483647}})",
        R"({"today": "x", "days": {"12": 4294967300}})", R"({"today": "x", "days": {"12": 1e300}})",
        R"({"today": "x", "days": {"12": -2147483648}})"}) {
    SCOPED_TRACE(damaged);
    ASSERT_OK(WriteQuickly(dir_.File("runs.json"), damaged));
    SweepOn(kFirst + 4);
    EXPECT_TRUE(Kept());
  }
}

TEST_F(RunDirsTest, NoLinkOfAnAccountLeadsTheRemovalElsewhere) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const testing::TempDir elsewhere;
  elsewhere.Append("precious", "x");
  End();
  ASSERT_EQ(symlink(elsewhere.path().c_str(), dir_.File("runs/12/link").c_str()), 0);
  for (const char* name : {"runs/12", "runs/12/checkpoints", "runs/12/checkpoints/step-10"}) {
    ASSERT_EQ(lchown(dir_.File(name).c_str(), 65534, 65534), 0);
  }
  ASSERT_EQ(chmod(dir_.path().c_str(), 0711), 0);
  ASSERT_EQ(chmod(dir_.File("runs").c_str(), 0711), 0);
  for (int day = 0; day <= 4; ++day) SweepOn(kFirst + day);
  EXPECT_NE(access(dir_.File("runs/12").c_str(), F_OK), 0);
  EXPECT_OK(ReadFile(elsewhere.File("precious")));
}

TEST(RunDirAgesTest, WhatIsGoneIsForgottenAndWhatIsNewIsYoung) {
  const RunDirAges after =
      Age({"2026-11-01", {{1, 5}, {2, 6}}}, /*folders=*/{2, 3}, /*in_use=*/{}, "2026-11-02");
  EXPECT_THAT(after.days, ElementsAre(Pair(2, 7), Pair(3, 0)));
  EXPECT_THAT(Age(after, {}, {}, "2026-11-02").days, IsEmpty());
}

TEST(RunDirAgesTest, TheOldestGrowNoOlder) {
  const RunDirAges before{"2026-11-01", {{1, kMaxRunDirDays}}};
  EXPECT_THAT(Age(before, {1}, {}, "2026-11-02").days, ElementsAre(Pair(1, kMaxRunDirDays)));
}

}  // namespace
}  // namespace hpc::worker
