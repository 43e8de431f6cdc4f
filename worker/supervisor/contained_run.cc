#include "worker/supervisor/contained_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "worker/supervisor/containment.h"
#include "worker/supervisor/os/birth.h"
#include "worker/supervisor/os/privileges.h"

namespace hpc::worker {
namespace {

// How long to wait before killing again, since some processes fork faster than they are killed.
constexpr timespec kAgain = {.tv_sec = 0, .tv_nsec = 1'000'000};

[[noreturn]] void BecomeProgram(char** run, pid_t parent) {
  if (BecomeWhomWeWorkAs()) {
    ResetSignals();
    // If the parent died before this line, the kernel could not send the signal.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent) execv(run[0], run + 1);
  }
  fprintf(stderr, "%s: %s\n", run[0], strerror(errno));
  _exit(127);
}

}  // namespace

int RunContained(char** run) {
  Containment containment;
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  sigprocmask(SIG_BLOCK, &awaited, nullptr);
  const pid_t parent = getpid();
  const pid_t program = fork();
  if (program < 0) {
    fprintf(stderr, "fork for %s: %s\n", run[0], strerror(errno));
    return 127 << 8;
  }
  if (program == 0) BecomeProgram(run, parent);

  int status = 0;
  bool ended = false;
  const auto on_reaped = [&](int64_t pid, int how, const rusage&) {
    if (pid != program) return;
    status = how;
    ended = true;
  };
  while (!ended && sigwaitinfo(&awaited, nullptr) != SIGTERM) containment.Reap(on_reaped);
  while (!containment.Reap(on_reaped)) {
    containment.Kill();
    sigtimedwait(&awaited, nullptr, &kAgain);
  }
  return status;
}

}  // namespace hpc::worker
