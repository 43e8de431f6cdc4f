#include "worker/supervisor/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace hpc::worker {
namespace {

constexpr int kSocketFd = 3;

// posix_spawn's two settings objects, freed together.
class SpawnSettings {
 public:
  explicit SpawnSettings(int socket) {
    posix_spawn_file_actions_init(&actions);
    // The socket first: its number may be one of those that the others are about to take.
    posix_spawn_file_actions_adddup2(&actions, socket, kSocketFd);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
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

}  // namespace

absl::StatusOr<SpawnedSupervisor> SpawnSupervisor(const std::string& program,
                                                  const std::string& dir) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair for a supervisor");
  }
  SpawnedSupervisor spawned;
  spawned.socket.Reset(ends[0]);
  const UniqueFd theirs(ends[1]);

  const SpawnSettings settings(theirs.get());
  char* const argv[] = {const_cast<char*>(program.c_str()), const_cast<char*>(dir.c_str()),
                        nullptr};
  char* const env[] = {nullptr};
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, program.c_str(), &settings.actions, &settings.attributes, argv, env);
  if (error != 0) return ErrnoStatus(error, absl::StrCat("start the supervisor ", program));
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
