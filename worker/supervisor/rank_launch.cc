#include "worker/supervisor/rank_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string_view>
#include <unordered_set>

#include "worker/supervisor/os/birth.h"
#include "worker/supervisor/os/privileges.h"

namespace hpc::worker {
namespace {

enum Step : int { kIsolate, kChdir, kExec };

// What the child reports through the status pipe. The pipe closes by itself when exec succeeds.
struct Failure {
  int error;
  int step;
};

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Prepared before the child exists, since the child may allocate no memory and take no locks.
struct ChildPlan {
  const LaunchPlan* plan;
  char* const* argv;
  char* const* env;
  int status_fd;
  pid_t parent;
  bool enter_leaf;
};

[[noreturn]] void Fail(const ChildPlan& child, Step step) {
  const Failure failure{errno, step};
  (void)!write(child.status_fd, &failure, sizeof failure);
  _exit(127);
}

void ResetOomScore() {
  // A process that may not be traced may not write to its own files in /proc, either.
  AllowTracing();
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!write(fd, "0", 1);
  close(fd);
}

bool EnterLeaf(const CgroupLeaf& leaf) {
  const OnOwnBehalf supervisor;
  return leaf.Enter();
}

// The hard limit stays, so that the process may undo this.
void LimitCpu(rlim_t seconds) {
  rlimit limit;
  if (getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_cur <= seconds) return;
  limit.rlim_cur = seconds;
  setrlimit(RLIMIT_CPU, &limit);
}

// Closes everything but the standard descriptors, the plan's socket and the status pipe. This is
// done now, and not when exec succeeds: other ranks might get hold of the journal through us.
bool CloseOthers(ChildPlan* child) {
  int first = kLaunchedSocketFd;
  if (child->plan->socket_fd >= 0) {
    child->status_fd = fcntl(child->status_fd, F_DUPFD_CLOEXEC, kLaunchedSocketFd + 1);
    if (child->status_fd < 0) return false;
    if (dup2(child->plan->socket_fd, kLaunchedSocketFd) < 0) return false;
    ++first;
  }
  if (child->status_fd > first) syscall(SYS_close_range, first, child->status_fd - 1, 0);
  syscall(SYS_close_range, child->status_fd + 1, ~0U, 0);
  return true;
}

[[noreturn]] void RunChild(ChildPlan child) {
  const LaunchPlan& plan = *child.plan;
  if (child.enter_leaf && !EnterLeaf(*plan.leaf)) Fail(child, kIsolate);
  if (!BecomeWhomWeWorkAs()) Fail(child, kIsolate);
  setsid();
  if (dup2(plan.stdin_fd, 0) < 0 || dup2(plan.stdout_fd, 1) < 0 || dup2(plan.stderr_fd, 2) < 0) {
    Fail(child, kIsolate);
  }
  if (!CloseOthers(&child)) Fail(child, kIsolate);
  setrlimit(RLIMIT_NOFILE, &plan.open_files);
  umask(plan.umask);
  if (plan.cpu_seconds != RLIM_INFINITY) LimitCpu(plan.cpu_seconds);
  if (plan.reset_oom_score) ResetOomScore();
  if (chdir(plan.workdir.c_str()) != 0) Fail(child, kChdir);
  HeedSignals();
  // If the parent died before this line, the kernel could not send the signal.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.parent) _exit(127);
  execve(plan.rank->program.c_str(), child.argv, child.env);
  Fail(child, kExec);
}

pid_t Fork(const CgroupLeaf* leaf, bool* enter_leaf) {
  const OnOwnBehalf supervisor;
  return ForkInto(leaf, enter_leaf);
}

}  // namespace

LaunchedRank LaunchRank(const LaunchPlan& plan) {
  LaunchedRank launched;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    launched.error = errno;
    return launched;
  }
  launched.status.Reset(ends[0]);
  const UniqueFd child_end(ends[1]);

  const auto env = MergeEnvironment(plan.rank->env, *plan.added_env);
  const auto argv_pointers = Pointers(plan.rank->argv);
  const auto env_pointers = Pointers(env);
  ChildPlan child{&plan, argv_pointers.data(), env_pointers.data(), child_end.get(), getpid(),
                  false};
  launched.pid = Fork(plan.leaf, &child.enter_leaf);
  if (launched.pid == 0) RunChild(child);
  if (launched.pid < 0) launched.error = errno;
  return launched;
}

bool ReadLaunchStatus(const LaunchPlan& plan, int status_fd,
                      std::optional<RankStartFailed>* failed) {
  Failure failure;
  const ssize_t n = read(status_fd, &failure, sizeof failure);
  if (n < 0 && errno == EAGAIN) return false;
  if (n != sizeof failure) return true;
  *failed = {.rank = plan.rank->rank, .error = failure.error, .what = ""};
  switch (failure.step) {
    case kIsolate:
      (*failed)->what = "isolate the rank's process";
      break;
    case kChdir:
      (*failed)->what = "chdir " + plan.workdir;
      break;
    default:
      (*failed)->what = "execve " + plan.rank->program;
  }
  return true;
}

std::vector<std::string> MergeEnvironment(const std::vector<std::string>& base,
                                          const std::vector<std::string>& added) {
  const auto name = [](const std::string& variable) {
    return std::string_view(variable).substr(0, variable.find('='));
  };
  std::unordered_set<std::string_view> present;
  for (const std::string& variable : base) present.insert(name(variable));
  std::vector<std::string> merged = base;
  for (const std::string& variable : added) {
    if (present.count(name(variable)) == 0) merged.push_back(variable);
  }
  return merged;
}

}  // namespace hpc::worker
