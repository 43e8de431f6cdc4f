#include "worker/supervisor/birth.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace hpc::worker {

pid_t ForkInto(const CgroupLeaf* leaf, bool* must_enter) {
  *must_enter = false;
  if (leaf == nullptr) return fork();
  clone_args args{};
  args.flags = CLONE_INTO_CGROUP;
  args.exit_signal = SIGCHLD;
  args.cgroup = static_cast<uint64_t>(leaf->dir_fd());
  const long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid >= 0) return static_cast<pid_t>(pid);
  *must_enter = true;
  return fork();
}

void ResetSignals() {
  // The kernel's struct sigaction, of which all zero is SIG_DFL. The C library's call would leave
  // out its own two signals, which whoever started us may have ignored.
  const uint64_t defaults[8] = {};
  for (int signal = 1; signal < NSIG; ++signal) {
    syscall(SYS_rt_sigaction, signal, defaults, nullptr, NSIG / 8);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace hpc::worker
