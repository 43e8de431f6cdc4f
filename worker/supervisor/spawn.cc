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

// posix_spawn's two bundles of wishes: nothing of ours is open or ignored in the child, and a
// session is its own.
struct SpawnWishes {
  explicit SpawnWishes(int socket) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, socket, kWorkerSocketFd);
    posix_spawn_file_actions_addclosefrom_np(&actions, kWorkerSocketFd + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
  }
  ~SpawnWishes() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnWishes(const SpawnWishes&) = delete;
  SpawnWishes& operator=(const SpawnWishes&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

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
  const SpawnWishes wishes(theirs.get());
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

absl::StatusOr<int64_t> SupervisorSpawner::Answer(const SpawnRequest& request) {
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
  if (recv(socket_.get(), &answer, sizeof answer, 0) == sizeof answer) {
    if (answer.pid > 0) return answer.pid;
    return ErrnoStatus(answer.error, request.cgroup.empty()
                                         ? "start a supervisor"
                                         : "start a supervisor in " + request.cgroup);
  }
  int status = 0;
  socket_.Reset();
  waitpid(std::exchange(pid_, 0), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kOtherVersion) {
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
  if (pid_ == 0) HPC_RETURN_IF_ERROR(Start());
  int error = Ask(request, spec.get(), theirs.get());
  // It was ended: nobody has heard the question, and the next one does.
  if (error == EPIPE || error == ECONNRESET) {
    HPC_RETURN_IF_ERROR(Start());
    error = Ask(request, spec.get(), theirs.get());
  }
  if (error != 0) return ErrnoStatus(error, "ask for a supervisor");
  HPC_ASSIGN_OR_RETURN(spawned.pid, Answer(request));
  return spawned;
}

}  // namespace hpc::worker
