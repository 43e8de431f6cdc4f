#include "tests/testing/disk/freezing_disk.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace hpc::testing {
namespace {

constexpr unsigned kGuardSeconds = 90;

bool Tell(const std::string& at, unsigned long what) {
  const int fd = open(at.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool done = fd >= 0 && ioctl(fd, what, 0) == 0;
  close(fd);
  return done;
}

}  // namespace

FreezingDisk::FreezingDisk(std::string at) : at_(std::move(at)), image_(at_ + ".image") {
  if (geteuid() != 0) return;
  const std::string make = "truncate -s 256M " + image_ + " && mkfs.ext4 -q -F " + image_ +
                           " && mount -o loop " + image_ + " " + at_;
  mounted_ = system(("exec 2>/dev/null; " + make).c_str()) == 0;
}

FreezingDisk::~FreezingDisk() {
  Thaw();
  if (mounted_) umount2(at_.c_str(), MNT_DETACH);
  unlink(image_.c_str());
}

bool FreezingDisk::Freeze() {
  if (!mounted_ || guard_ > 0) return false;
  guard_ = fork();
  if (guard_ == 0) {
    // Closes what we had open, so that nobody waits for the other ends.
    for (int fd = 0; fd < 1024; ++fd) close(fd);
    sleep(kGuardSeconds);
    Tell(at_, FITHAW);
    _exit(0);
  }
  return guard_ > 0 && Tell(at_, FIFREEZE);
}

void FreezingDisk::Thaw() {
  if (guard_ <= 0) return;
  Tell(at_, FITHAW);
  kill(guard_, SIGKILL);
  waitpid(guard_, nullptr, 0);
  guard_ = -1;
}

}  // namespace hpc::testing
