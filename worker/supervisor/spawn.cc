#include "worker/supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/open_files.h"
#include "common/spawn_wishes.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "worker/supervisor/fork_request.h"
#include "worker/supervisor/spec.h"

namespace hpc::worker {
namespace {

constexpr int kPatienceMs = 10'000;
// What supervisors may show as their arguments: the longest path.
constexpr size_t kTitleRoom = 4096 + 64;
constexpr int kOtherVersion = 2;  // the program's exit code when it does not know its arguments

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

absl::Status MakePair(int flags, UniqueFd* ours, UniqueFd* theirs) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair for a supervisor");
  }
  ours->Reset(ends[0]);
  theirs->Reset(ends[1]);
  return absl::OkStatus();
}

ForkRequest ToForkRequest(const SpawnRequest& request) {
  const rlimit open_files = InheritedOpenFiles();
  return {.dir = request.dir,
          .account = request.account ? ToText(*request.account) : "",
          .cgroup = request.cgroup,
          .open_files = open_files.rlim_cur,
          .most_open_files = open_files.rlim_max,
          .recallable = request.recall >= 0};
}

}  // namespace

SupervisorSpawner::~SupervisorSpawner() { End(); }

void SupervisorSpawner::End() {
  socket_.Reset();
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(std::exchange(pid_, 0), nullptr, 0);
}

absl::Status SupervisorSpawner::Start() {
  End();
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

int SupervisorSpawner::Ask(const SpawnRequest& request, int spec, int socket) const {
  std::string bytes = Encode(ToForkRequest(request));
  if (bytes.size() > kMostForkRequestBytes) return EMSGSIZE;
  int descriptors[kMostForkDescriptors] = {spec, socket, request.journal, request.listener,
                                           request.recall};
  const size_t size =
      sizeof(int) * static_cast<size_t>(kMostForkDescriptors - (request.recall >= 0 ? 0 : 1));
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)] = {};
  iovec data{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(size);
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(size);
  memcpy(CMSG_DATA(rights), descriptors, size);
  return sendmsg(socket_.get(), &message, MSG_NOSIGNAL) >= 0 ? 0 : errno;
}

absl::StatusOr<int64_t> SupervisorSpawner::Answer(const SpawnRequest& request, bool* unread) {
  pollfd answered{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  int ready;
  do {
    ready = poll(&answered, 1, kPatienceMs);
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) {
    End();
    return absl::DeadlineExceededError("what makes supervisors does not answer, and was killed");
  }
  ForkAnswer answer;
  const ssize_t n = recv(socket_.get(), &answer, sizeof answer, 0);
  // It ended with our question in its queue.
  *unread = n < 0 && errno == ECONNRESET;
  if (n == sizeof answer) {
    if (answer.pid > 0) return answer.pid;
    return ErrnoStatus(answer.error, request.cgroup.empty()
                                         ? "start a supervisor"
                                         : "start a supervisor in " + request.cgroup);
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

absl::StatusOr<SpawnedSupervisor> SupervisorSpawner::Spawn(const SpawnRequest& request) {
  SpawnedSupervisor spawned;
  UniqueFd theirs;
  HPC_RETURN_IF_ERROR(MakePair(SOCK_NONBLOCK, &spawned.socket, &theirs));
  HPC_ASSIGN_OR_RETURN(const UniqueFd spec, MakeSpecFile(request.spec));
  for (bool again = false;; again = true) {
    if (pid_ == 0) HPC_RETURN_IF_ERROR(Start());
    const int error = Ask(request, spec.get(), theirs.get());
    // One that ended before it was asked, or has not read it, is asked again once it is another.
    if (error != 0 && error != EPIPE) {
      End();
      if (again || error == EMSGSIZE) return ErrnoStatus(error, "ask for a supervisor");
      continue;
    }
    bool unread = false;
    const absl::StatusOr<int64_t> pid = Answer(request, &unread);
    if (!again && (unread || (error == EPIPE && absl::IsUnavailable(pid.status())))) continue;
    HPC_RETURN_IF_ERROR(pid.status());
    spawned.pid = *pid;
    return spawned;
  }
}

}  // namespace hpc::worker
