#include "worker/os/interface_watch.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace hpc::worker {
namespace {

bool LoopbackIsUp(InterfaceWatch* watch) {
  const auto addresses = watch->Get();
  return std::any_of(addresses.begin(), addresses.end(), [](const InterfaceAddress& one) {
    return one.family == InterfaceAddress::Family::kLink && one.loopback && one.up;
  });
}

bool SetLoopback(bool up) {
  const UniqueFd fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  snprintf(request.ifr_name, sizeof request.ifr_name, "lo");
  request.ifr_flags = up ? IFF_UP : 0;
  return ioctl(fd.get(), SIOCSIFFLAGS, &request) == 0;
}

TEST(InterfaceWatchTest, TellsAgainWhatHasNotChanged) {
  InterfaceWatch watch;
  const auto first = watch.Get(), second = watch.Get();
  ASSERT_FALSE(first.empty());
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].address, second[i].address);
}

// Runs in a child with a network namespace of its own. Its exit code says what it saw.
int WatchALinkGoUpAndDown() {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0 && unshare(CLONE_NEWNET) != 0) return 77;
  InterfaceWatch watch;
  if (LoopbackIsUp(&watch)) return 1;
  if (!SetLoopback(true)) return 77;
  if (!LoopbackIsUp(&watch)) return 2;
  if (!LoopbackIsUp(&watch)) return 3;
  if (!SetLoopback(false)) return 77;
  return LoopbackIsUp(&watch) ? 4 : 0;
}

TEST(InterfaceWatchTest, SeesAtOnceWhatChanges) {
  const pid_t child = fork();
  if (child == 0) _exit(WatchALinkGoUpAndDown());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no network namespace can be made here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace hpc::worker
