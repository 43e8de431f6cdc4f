#include "worker/os/sleep_inhibitor.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

// A command that makes a file, and removes it when its standard input ends.
class SleepInhibitorTest : public ::testing::Test {
 protected:
  std::vector<std::string> Command() const {
    return {"sh", "-c", absl::StrCat("touch ", file_, "; cat; rm ", file_)};
  }
  bool BecomesHeld(bool held) const {
    const RealClock clock;
    const MonoTime limit = clock.Get().mono + absl::Seconds(20);
    while (std::filesystem::exists(file_) != held && clock.Get().mono < limit) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    return std::filesystem::exists(file_) == held;
  }

  const testing::TempDir dir_;
  const std::string file_ = dir_.path() + "/held";
};

TEST_F(SleepInhibitorTest, HoldsItsLockUntilItIsReleased) {
  SleepInhibitor inhibitor(Command());
  inhibitor.Hold();
  inhibitor.Hold();
  EXPECT_TRUE(BecomesHeld(true));
  inhibitor.Release(absl::Seconds(20));
  EXPECT_FALSE(std::filesystem::exists(file_)) << "Release has waited";
  inhibitor.Hold();
  EXPECT_TRUE(BecomesHeld(true)) << "it can be taken again";
}

TEST_F(SleepInhibitorTest, LetsGoWhenItIsDestroyed) {
  {
    SleepInhibitor inhibitor(Command());
    inhibitor.Hold();
    EXPECT_TRUE(BecomesHeld(true));
  }
  EXPECT_TRUE(BecomesHeld(false));
}

TEST_F(SleepInhibitorTest, ACommandThatIsMissingOrFailsHarmsNobody) {
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"no-such-program"}, {"false"}}) {
    SleepInhibitor inhibitor(command);
    inhibitor.Hold();
    inhibitor.Release(absl::Seconds(20));
    inhibitor.Hold();
  }
}

}  // namespace
}  // namespace hpc::worker
