#include "worker/os/sleep_inhibitor.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "common/process/spawn_wishes.h"

namespace hpc::worker {

std::vector<std::string> SystemdInhibit() {
  return {"systemd-inhibit",
          "--what=sleep:idle",
          "--mode=block",
          "--who=hpcctl",
          "--why=ranks of a run are here",
          "cat"};
}

void SleepInhibitor::Hold() {
  Reap(absl::ZeroDuration());
  int ends[2];
  if (pipe_.ok() || pid_ != 0 || pipe2(ends, O_CLOEXEC) != 0) return;
  const UniqueFd input(ends[0]);
  pipe_ = UniqueFd(ends[1]);
  SpawnWishes wishes(POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_adddup2(&wishes.actions, input.get(), STDIN_FILENO);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&wishes.actions, fd, "/dev/null", O_WRONLY, 0);
  }
  posix_spawn_file_actions_addclosefrom_np(&wishes.actions, STDERR_FILENO + 1);
  std::vector<char*> argv;
  for (const std::string& word : command_) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  // Nothing else of ours is for it, such as the socket at which systemd hears our state.
  const char* const path = getenv("PATH");
  std::string search = absl::StrCat("PATH=", path == nullptr ? "/usr/bin:/bin" : path);
  char* const environment[] = {search.data(), nullptr};
  const int error =
      posix_spawnp(&pid_, argv[0], &wishes.actions, &wishes.attributes, argv.data(), environment);
  if (error == 0) return;
  pid_ = 0;
  LogDebug("nothing keeps this PC from suspending itself",
           {{"command", command_[0]}, {"error", strerror(error)}});
}

void SleepInhibitor::Release(absl::Duration patience) {
  pipe_.Reset();
  Reap(patience);
}

void SleepInhibitor::Reap(absl::Duration patience) {
  if (pid_ == 0) return;
  if (patience > absl::ZeroDuration()) {
    const UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    pollfd ended = {pidfd.get(), POLLIN, 0};
    poll(&ended, 1, static_cast<int>(absl::ToInt64Milliseconds(patience)));
  }
  if (waitpid(pid_, nullptr, WNOHANG) != 0) pid_ = 0;
}

}  // namespace hpc::worker
