#include "worker/supervisor/os/birth.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace hpc::worker {
namespace {

pid_t CloneInto(const CgroupLeaf* leaf, clone_args args, bool* must_enter) {
  args.flags |= CLONE_INTO_CGROUP;
  args.exit_signal = SIGCHLD;
  args.cgroup = static_cast<uint64_t>(leaf->dir_fd());
  const long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid >= 0) return static_cast<pid_t>(pid);
  *must_enter = true;
  return fork();
}

constexpr int kUnheeded[] = {SIGHUP, SIGINT, SIGPIPE};

void UnblockSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace

pid_t ForkInto(const CgroupLeaf* leaf, bool* must_enter) {
  *must_enter = false;
  return leaf == nullptr ? fork() : CloneInto(leaf, {}, must_enter);
}

pid_t ForkToStay(const CgroupLeaf* leaf, bool* must_enter) {
  *must_enter = false;
  if (leaf == nullptr) return fork();
  // The address at which the C library keeps the number of this thread. The kernel must store the
  // number of the child's thread there.
  uint64_t number = 0;
  if (prctl(PR_GET_TID_ADDRESS, &number) != 0 || number == 0) {
    *must_enter = true;
    return fork();
  }
  clone_args args{};
  args.flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  args.child_tid = number;
  return CloneInto(leaf, args, must_enter);
}

void ResetSignals() {
  // The kernel's struct sigaction; all zeros mean SIG_DFL. The C library's call would leave out its
  // own two signals, which whoever started us may have ignored.
  const uint64_t defaults[8] = {};
  for (int signal = 1; signal < NSIG; ++signal) {
    syscall(SYS_rt_sigaction, signal, defaults, nullptr, NSIG / 8);
  }
  UnblockSignals();
}

void IgnoreSignals() {
  for (const int unheeded : kUnheeded) signal(unheeded, SIG_IGN);
}

void HeedSignals() {
  for (const int unheeded : kUnheeded) signal(unheeded, SIG_DFL);
  UnblockSignals();
}

}  // namespace hpc::worker
