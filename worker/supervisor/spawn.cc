#include "worker/supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "worker/supervisor/spec.h"

namespace hpc::worker {
namespace {

// What the supervisor gets open, here under numbers above those that it has there.
struct Inherited {
  UniqueFd spec, socket, journal, listener;

  bool ok() const { return spec.ok() && socket.ok() && journal.ok() && listener.ok(); }
};

UniqueFd High(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, kListenerFd + 1)); }

// posix_spawn's two settings objects, freed together.
class SpawnSettings {
 public:
  explicit SpawnSettings(const Inherited& inherited) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, inherited.spec.get(), 0);
    posix_spawn_file_actions_adddup2(&actions, inherited.socket.get(), kWorkerSocketFd);
    posix_spawn_file_actions_adddup2(&actions, inherited.journal.get(), kJournalFd);
    posix_spawn_file_actions_adddup2(&actions, inherited.listener.get(), kListenerFd);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

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
  if (!request.cgroup.empty()) arguments.insert(arguments.end(), {"--cgroup", request.cgroup});
  arguments.push_back(request.dir);
  return arguments;
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

  const Inherited inherited{High(spec.get()), High(theirs.get()), High(request.journal),
                            High(request.listener)};
  if (!inherited.ok()) return ErrnoStatus(errno, "duplicate a descriptor for a supervisor");
  const SpawnSettings settings(inherited);
  const std::vector<std::string> arguments = Arguments(request);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char* const env[] = {nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, request.program.c_str(), &settings.actions,
                                &settings.attributes, argv.data(), env);
  if (error != 0) return ErrnoStatus(error, absl::StrCat("start the supervisor ", request.program));
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
