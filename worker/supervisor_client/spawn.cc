#include "worker/supervisor_client/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/process/open_files.h"
#include "common/process/spawn_wishes.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/protocol/fork_request.h"
#include "worker/supervisor/protocol/passed_files.h"
#include "worker/supervisor/protocol/spec.h"
#include "worker/supervisor_client/held_cgroup.h"
#include "worker/supervisor_client/record.h"

namespace hpc::worker {
namespace {

constexpr int kPatienceMs = 10'000;
// How many that keep a warm parent, and so much memory, wait at a time.
constexpr size_t kMostWarm = 2;
constexpr int64_t kCgroupPatienceMs = 500;
// The room for what supervisors may show as their arguments: the longest path.
constexpr size_t kTitleRoom = 4096 + 64;
constexpr int kOtherVersion = 2;  // the program's exit code when it does not know its arguments

absl::Status MakePair(int flags, UniqueFd* ours, UniqueFd* theirs) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair for a supervisor");
  }
  ours->Reset(ends[0]);
  theirs->Reset(ends[1]);
  return absl::OkStatus();
}

ForkRequest ToForkRequest(const SpawnedSupervisor& wanted) {
  const rlimit open_files = InheritedOpenFiles();
  return {.account = wanted.account ? ToText(*wanted.account) : "",
          .cgroup = wanted.cgroup,
          .open_files = open_files.rlim_cur,
          .most_open_files = open_files.rlim_max};
}

}  // namespace

SupervisorSpawner::SupervisorSpawner(std::string program, std::string folder)
    : program_(std::move(program)), folder_(std::move(folder)) {}

SupervisorSpawner::~SupervisorSpawner() {
  (void)EndIdle(MonoTime::Infinite());
  EndProcess();
}

void SupervisorSpawner::EndProcess() {
  socket_.Reset();
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(std::exchange(pid_, 0), nullptr, 0);
}

absl::Status SupervisorSpawner::Start() {
  EndProcess();
  UniqueFd theirs;
  HPC_RETURN_IF_ERROR(MakePair(0, &socket_, &theirs));
  std::string room(kTitleRoom, '-');
  std::vector<std::string> arguments = {program_, "--fork-server", Version(), std::move(room)};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  SpawnWishes wishes(POSIX_SPAWN_SETSID);
  posix_spawn_file_actions_addopen(&wishes.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&wishes.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&wishes.actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&wishes.actions, theirs.get(), kWorkerSocketFd);
  posix_spawn_file_actions_addclosefrom_np(&wishes.actions, kWorkerSocketFd + 1);
  char* const environment[] = {nullptr};
  const int error = posix_spawn(&pid_, program_.c_str(), &wishes.actions, &wishes.attributes,
                                argv.data(), environment);
  if (error == 0) return absl::OkStatus();
  pid_ = 0;
  socket_.Reset();
  return ErrnoStatus(error, "start the supervisor " + program_);
}

absl::StatusOr<int64_t> SupervisorSpawner::Answer(const std::string& cgroup, bool* unread) {
  pollfd answered{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  int ready;
  do {
    ready = poll(&answered, 1, kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) {
    EndProcess();
    return absl::DeadlineExceededError("what makes supervisors does not answer, and was killed");
  }
  ForkAnswer answer;
  const ssize_t n = recv(socket_.get(), &answer, sizeof answer, 0);
  // It ended with our request still in its queue.
  *unread = n < 0 && errno == ECONNRESET;
  if (n == sizeof answer) {
    if (answer.pid > 0) return answer.pid;
    return ErrnoStatus(answer.error,
                       cgroup.empty() ? "start a supervisor" : "start a supervisor in " + cgroup);
  }
  int status = 0;
  socket_.Reset();
  waitpid(std::exchange(pid_, 0), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOtherVersion) {
    *unread = false;
    return absl::FailedPreconditionError(absl::StrCat(
        program_, " is not of this worker's version (", Version(), "): restart the worker"));
  }
  return absl::UnavailableError("what makes supervisors ended");
}

absl::StatusOr<int64_t> SupervisorSpawner::Ask(const SpawnedSupervisor& wanted, int listener,
                                               int socket) {
  const std::string request = Encode(ToForkRequest(wanted));
  if (request.size() > kMostForkRequestBytes) return ErrnoStatus(EMSGSIZE, "ask for a supervisor");
  for (bool again = false;; again = true) {
    if (pid_ == 0) HPC_RETURN_IF_ERROR(Start());
    const int error = SendFiles(socket_.get(), request, {socket, listener});
    // If the process ended before it was asked, or has not read the request, a new process is asked
    // once more.
    if (error != 0 && error != EPIPE) {
      EndProcess();
      if (again) return ErrnoStatus(error, "ask for a supervisor");
      continue;
    }
    bool unread = false;
    const absl::StatusOr<int64_t> pid = Answer(wanted.cgroup, &unread);
    if (!again && (unread || (error == EPIPE && absl::IsUnavailable(pid.status())))) continue;
    return pid;
  }
}

absl::StatusOr<SpawnedSupervisor> SupervisorSpawner::Make(const std::optional<AccountIds>& account,
                                                          const std::string& cgroup_parent,
                                                          bool scoped) {
  if (!std::exchange(begun_, true)) {
    HPC_RETURN_IF_ERROR(MakeDirs(folder_, 0700));
    HPC_RETURN_IF_ERROR(EmptyTree(folder_));
  }
  SpawnedSupervisor made{.number = next_++, .account = account, .cgroup_parent = cgroup_parent};
  made.listener = absl::StrCat(folder_, "/", made.number);
  HPC_ASSIGN_OR_RETURN(const UniqueFd listener, BindSocket(made.listener));
  UniqueFd theirs;
  HPC_RETURN_IF_ERROR(MakePair(SOCK_NONBLOCK, &made.socket, &theirs));
  if (account && !scoped) {
    made.cgroup = MakeHeldCgroup(cgroup_parent.empty() ? OwnWritableCgroup() : cgroup_parent,
                                 absl::StrCat(made.number), made.listener);
  }
  const absl::StatusOr<int64_t> pid = Ask(made, listener.get(), theirs.get());
  if (!pid.ok()) {
    // A supervisor may have been made all the same. It finds its socket closed, and ends.
    End(std::move(made));
    return pid.status();
  }
  made.pid = *pid;
  return made;
}

// The last one to come is taken first: what it needs is most likely still in the processor's cache.
std::optional<SpawnedSupervisor> SupervisorSpawner::TakeIdle(
    const std::optional<AccountIds>& account, const std::string& cgroup_parent,
    const std::string& command) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto fits = [&](const SpawnedSupervisor& one, const std::string& kept_for) {
    return one.socket.ok() && one.account == account && one.cgroup_parent == cgroup_parent &&
           one.command == kept_for;
  };
  for (const std::string& kept_for : {command, std::string()}) {
    for (auto it = idle_.rbegin(); it != idle_.rend(); ++it) {
      if (!fits(it->supervisor, kept_for)) continue;
      SpawnedSupervisor taken = std::move(it->supervisor);
      idle_.erase(std::next(it).base());
      return taken;
    }
  }
  return std::nullopt;
}

absl::StatusOr<SpawnedSupervisor> SupervisorSpawner::Spawn(const std::optional<AccountIds>& account,
                                                           const std::string& cgroup_parent,
                                                           bool scoped,
                                                           const std::string& command) {
  while (auto idle = TakeIdle(account, cgroup_parent, command)) {
    pollfd ended{.fd = idle->socket.get(), .events = 0, .revents = 0};
    if (poll(&ended, 1, 0) == 0) return *std::move(idle);
    End(*std::move(idle));
  }
  return Make(account, cgroup_parent, scoped);
}

void SupervisorSpawner::Keep(SpawnedSupervisor idle, MonoTime until) {
  idle.has_served = true;
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back({std::move(idle), until});
  size_t warm = 0;
  for (auto it = idle_.rbegin(); it != idle_.rend(); ++it) {
    if (it->supervisor.command.empty() || ++warm <= kMostWarm) continue;
    // It ends now, with what it keeps. EndIdle removes the rest.
    it->supervisor.socket.Reset();
    it->until = MonoTime();
  }
}

bool SupervisorSpawner::EndIdle(MonoTime now) {
  std::deque<Idle> ended;
  bool others;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto first = std::stable_partition(idle_.begin(), idle_.end(),
                                             [now](const Idle& one) { return one.until > now; });
    std::move(first, idle_.end(), std::back_inserter(ended));
    idle_.erase(first, idle_.end());
    others = !idle_.empty();
  }
  // First all sockets are closed, so that all end at once. Then each is waited for.
  for (Idle& one : ended) one.supervisor.socket.Reset();
  for (Idle& one : ended) End(std::move(one.supervisor));
  return others;
}

void SupervisorSpawner::End(SpawnedSupervisor idle) {
  idle.socket.Reset();
  unlink(idle.listener.c_str());
  if (idle.cgroup.empty()) return;
  auto cgroup = CgroupLeaf::Open(idle.cgroup);
  if (!cgroup) return;
  cgroup->Kill();
  (void)cgroup->WaitEmpty(kCgroupPatienceMs);
  cgroup->Remove();
}

}  // namespace hpc::worker
