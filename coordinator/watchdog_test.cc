#include "coordinator/watchdog.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "common/unique_fd.h"

namespace hpc::coordinator {
namespace {

// Receives what is sent to $NOTIFY_SOCKET while this object lives.
class NotifySocket {
 public:
  NotifySocket()
      : path_(::testing::TempDir() + "/notify." + std::to_string(getpid())),
        fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  }
  ~NotifySocket() {
    unsetenv("NOTIFY_SOCKET");
    unlink(path_.c_str());
  }
  // The next message; "" if there is none.
  std::string Take() {
    char buffer[100];
    const ssize_t n = recv(fd_.get(), buffer, sizeof(buffer), 0);
    return n < 0 ? "" : std::string(buffer, static_cast<size_t>(n));
  }

 private:
  std::string path_;
  UniqueFd fd_;
};

MonoTime At(absl::Duration d) { return MonoTime{d}; }

TEST(Watchdog, IsFedTwicePerIntervalHoweverOftenTheLoopGoesRound) {
  NotifySocket socket;
  Watchdog watchdog(absl::Seconds(10));
  watchdog.Feed(At(absl::Seconds(100)));
  EXPECT_EQ(socket.Take(), "WATCHDOG=1");
  watchdog.Feed(At(absl::Seconds(104)));
  EXPECT_EQ(socket.Take(), "");
  watchdog.Feed(At(absl::Seconds(105)));
  EXPECT_EQ(socket.Take(), "WATCHDOG=1");
}

TEST(Watchdog, TheLoopWakesTwiceAsOftenAsSystemdWaits) {
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(Watchdog::FromEnvironment().interval(), absl::Seconds(15));
  setenv("WATCHDOG_PID", "1", 1);  // meant for another process
  EXPECT_EQ(Watchdog::FromEnvironment().interval(), absl::InfiniteDuration());
  unsetenv("WATCHDOG_PID");
  unsetenv("WATCHDOG_USEC");
}

TEST(Watchdog, NobodyIsToldWhereNobodyWatches) {
  NotifySocket socket;
  Watchdog watchdog = Watchdog::FromEnvironment();
  EXPECT_EQ(watchdog.interval(), absl::InfiniteDuration());
  watchdog.Feed(At(absl::Seconds(100)));
  EXPECT_EQ(socket.Take(), "");
}

}  // namespace
}  // namespace hpc::coordinator
