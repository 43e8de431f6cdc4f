#include "worker/os/sleep_inhibitor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

// A command that says "held" into a pipe, and closes it when its standard input ends.
class SleepInhibitorTest : public ::testing::Test {
 protected:
  SleepInhibitorTest() { EXPECT_EQ(mkfifo(pipe_.c_str(), 0600), 0); }
  std::vector<std::string> Command() const {
    return {"sh", "-c", absl::StrCat("exec 3>", pipe_, "; echo held >&3; cat")};
  }
  // Waits until the command runs.
  UniqueFd Listen() const {
    UniqueFd fd(open(pipe_.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(Next(fd), "held\n");
    return fd;
  }
  // What the command says next; "": it has ended.
  static std::string Next(const UniqueFd& fd) {
    char bytes[16];
    const ssize_t n = read(fd.get(), bytes, sizeof bytes);
    return n > 0 ? std::string(bytes, static_cast<size_t>(n)) : "";
  }

  const testing::TempDir dir_;
  const std::string pipe_ = dir_.path() + "/held";
};

TEST_F(SleepInhibitorTest, HoldsItsLockUntilItIsReleased) {
  SleepInhibitor inhibitor(Command());
  inhibitor.Hold();
  const UniqueFd held = Listen();
  inhibitor.Hold();
  fcntl(held.get(), F_SETFL, O_NONBLOCK);
  char byte;
  EXPECT_EQ(read(held.get(), &byte, 1), -1) << "it is held still, and once";
  inhibitor.Release(absl::Seconds(20));
  EXPECT_EQ(read(held.get(), &byte, 1), 0) << "Release has waited for the end";
  inhibitor.Hold();
  Listen();
}

TEST_F(SleepInhibitorTest, LetsGoWhenItIsDestroyed) {
  std::optional<SleepInhibitor> inhibitor(std::in_place, Command());
  inhibitor->Hold();
  const UniqueFd held = Listen();
  inhibitor.reset();
  EXPECT_EQ(Next(held), "");
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
