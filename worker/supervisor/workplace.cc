#include "worker/supervisor/workplace.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "worker/supervisor/os/birth.h"
#include "worker/supervisor/os/small_file.h"

namespace hpc::worker {
namespace {

UniqueFd CatchSignals() {
  IgnoreSignals();
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return UniqueFd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace

bool Workplace::Furnish(std::string* lacks) {
  if (furnished_) return true;
  *lacks = "limit of open files";
  if (!RaiseOpenFiles()) return false;
  *lacks = "signalfd";
  signals = CatchSignals();
  if (!signals.ok()) return false;
  *lacks = "open /dev/null";
  null.Reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.ok()) return false;
  reset_oom_score =
      ReadSmallFile(AT_FDCWD, "/proc/self/oom_score_adj").value_or("").substr(0, 1) == "-";
  furnished_ = true;
  return true;
}

// Each rank needs six descriptors of ours. The usual limit is made for programs that use select().
bool Workplace::RaiseOpenFiles() {
  if (getrlimit(RLIMIT_NOFILE, &open_files) != 0) return false;
  rlimit raised = open_files;
  raised.rlim_cur = raised.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

void Workplace::HeedTermination(bool heed) const {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigprocmask(heed ? SIG_UNBLOCK : SIG_BLOCK, &set, nullptr);
}

void Workplace::Clear() {
  poller.Clear();
  writer.Forget();
}

}  // namespace hpc::worker
