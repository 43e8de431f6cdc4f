#include "worker/supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/open_files.h"
#include "common/status_macros.h"
#include "worker/supervisor/birth.h"
#include "worker/supervisor/cgroup_leaf.h"
#include "worker/supervisor/spec.h"

namespace hpc::worker {
namespace {

// What the supervisor gets open, here under numbers above those that it has there.
struct Inherited {
  UniqueFd spec, socket, journal, listener;
  UniqueFd recall;  // perhaps

  bool ok() const { return spec.ok() && socket.ok() && journal.ok() && listener.ok(); }
};

UniqueFd High(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, kRecallFd + 1)); }

// In memory, because secrets of the run are in it.
absl::StatusOr<UniqueFd> MakeSpecFile(const std::string& spec) {
  UniqueFd fd(memfd_create("hpc-spec", MFD_CLOEXEC));
  if (!fd.ok()) return ErrnoStatus(errno, "memfd_create for a supervisor");
  size_t written = 0;
  while (written < spec.size()) {
    const ssize_t n = write(fd.get(), spec.data() + written, spec.size() - written);
    if (n < 0) return ErrnoStatus(errno, "write the spec of a supervisor");
    written += static_cast<size_t>(n);
  }
  if (lseek(fd.get(), 0, SEEK_SET) != 0) return ErrnoStatus(errno, "rewind a spec");
  return fd;
}

std::vector<std::string> Arguments(const SpawnRequest& request) {
  std::vector<std::string> arguments = {request.program};
  if (request.account) {
    arguments.insert(arguments.end(), {"--as", ToText(*request.account)});
  }
  arguments.push_back(request.dir);
  return arguments;
}

// Prepared before the child exists: it takes no memory and no locks.
struct ChildPlan {
  const char* program;
  char* const* argv;
  const Inherited* inherited;
  const CgroupLeaf* cgroup;
  rlimit open_files;
  int failure_fd;  // told errno; closed by an exec that succeeds
};

bool TakeDescriptors(const Inherited& inherited) {
  const int null = open("/dev/null", O_WRONLY);
  return null >= 0 && dup2(null, 1) >= 0 && dup2(null, 2) >= 0 &&
         dup2(inherited.spec.get(), 0) >= 0 && dup2(inherited.socket.get(), kWorkerSocketFd) >= 0 &&
         dup2(inherited.journal.get(), kJournalFd) >= 0 &&
         dup2(inherited.listener.get(), kListenerFd) >= 0 &&
         (!inherited.recall.ok() || dup2(inherited.recall.get(), kRecallFd) >= 0);
}

[[noreturn]] void RunChild(const ChildPlan& child, bool must_enter) {
  ResetSignals();
  setsid();
  setrlimit(RLIMIT_NOFILE, &child.open_files);
  if (TakeDescriptors(*child.inherited) && (!must_enter || child.cgroup->Enter())) {
    char* const env[] = {nullptr};
    execve(child.program, child.argv, env);
  }
  const int error = errno;
  (void)!write(child.failure_fd, &error, sizeof error);
  _exit(127);
}

// While it lives, no signal runs a handler of ours in a child.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// The child's errno, or 0 once it executes the supervisor.
int WaitForExec(int failure_fd) {
  int error = 0;
  ssize_t n;
  do {
    n = read(failure_fd, &error, sizeof error);
  } while (n < 0 && errno == EINTR);
  return n == sizeof error ? error : 0;
}

// The child's pid, once it executes the supervisor.
absl::StatusOr<pid_t> StartChild(const SpawnRequest& request, const Inherited& inherited) {
  std::optional<CgroupLeaf> cgroup;
  if (!request.cgroup.empty() && !(cgroup = CgroupLeaf::Open(request.cgroup))) {
    return ErrnoStatus(errno, "open " + request.cgroup);
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe for a supervisor");
  const UniqueFd ours(ends[0]);
  UniqueFd low(ends[1]);
  UniqueFd theirs = High(low.get());
  low.Reset();
  if (!theirs.ok()) return ErrnoStatus(errno, "duplicate a descriptor for a supervisor");

  const std::vector<std::string> arguments = Arguments(request);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const ChildPlan child{.program = request.program.c_str(),
                        .argv = argv.data(),
                        .inherited = &inherited,
                        .cgroup = cgroup ? &*cgroup : nullptr,
                        .open_files = InheritedOpenFiles(),
                        .failure_fd = theirs.get()};
  bool must_enter = false;
  const SignalsBlocked blocked;
  const pid_t pid = ForkInto(child.cgroup, &must_enter);
  if (pid == 0) RunChild(child, must_enter);
  const std::string what = absl::StrCat("start the supervisor ", request.program);
  if (pid < 0) return ErrnoStatus(errno, what);
  theirs.Reset();
  const int error = WaitForExec(ours.get());
  if (error == 0) return pid;
  waitpid(pid, nullptr, 0);
  return ErrnoStatus(error, what);
}

}  // namespace

absl::StatusOr<SpawnedSupervisor> SpawnSupervisor(const SpawnRequest& request) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair for a supervisor");
  }
  SpawnedSupervisor spawned;
  spawned.socket.Reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  HPC_ASSIGN_OR_RETURN(const UniqueFd spec, MakeSpecFile(request.spec));

  Inherited inherited{High(spec.get()), High(theirs.get()), High(request.journal),
                      High(request.listener), UniqueFd()};
  if (request.recall >= 0) inherited.recall = High(request.recall);
  if (!inherited.ok() || inherited.recall.ok() != (request.recall >= 0))
    return ErrnoStatus(errno, "duplicate a descriptor for a supervisor");
  HPC_ASSIGN_OR_RETURN(const pid_t pid, StartChild(request, inherited));
  spawned.pid = pid;
  spawned.pidfd.Reset(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!spawned.pidfd.ok()) {
    const absl::Status status = ErrnoStatus(errno, "pidfd_open of a supervisor");
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return status;
  }
  return spawned;
}

}  // namespace hpc::worker
