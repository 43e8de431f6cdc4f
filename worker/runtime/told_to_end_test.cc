#include "worker/runtime/told_to_end.h"

#include <gtest/gtest.h>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

class ToldToEndTest : public ::testing::Test {
 protected:
  testing::TempDir dir_;
};

TEST_F(ToldToEndTest, TheNextWorkerOfTheSameBootKnowsHowLongAgo) {
  ASSERT_OK(WriteToldToEnd(dir_.path(), "boot-1", 5'000'000'000));
  EXPECT_EQ(ReadToldToEnd(dir_.path(), "boot-1", 7'500'000'000), absl::Seconds(2.5));
}

TEST_F(ToldToEndTest, ATimeOfAnotherBootSaysNothing) {
  ASSERT_OK(WriteToldToEnd(dir_.path(), "boot-1", 5'000'000'000));
  EXPECT_EQ(ReadToldToEnd(dir_.path(), "boot-2", 7'500'000'000), std::nullopt);
}

TEST_F(ToldToEndTest, NoFileADamagedOneAndATimeInTheFutureSayNothing) {
  EXPECT_EQ(ReadToldToEnd(dir_.path(), "boot-1", 1), std::nullopt);
  ASSERT_OK(WriteToldToEnd(dir_.path(), "boot-1", 5));
  EXPECT_EQ(ReadToldToEnd(dir_.path(), "boot-1", 4), std::nullopt);
  for (const char* text : {"", "{", "[]", R"({"boot_id": 1, "at_ns": 1})", R"({"at_ns": "x"})"}) {
    ASSERT_OK(WriteFileAtomically(dir_.path() + "/told-to-end.json", text));
    EXPECT_EQ(ReadToldToEnd(dir_.path(), "boot-1", 9), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace hpc::worker
