#include "worker/os/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/clock.h"
#include "common/files/files.h"
#include "common/process/spawn_wishes.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/unique_fd.h"

namespace hpc::worker {
namespace {

constexpr size_t kMaxOutput = 1 << 20;
// Gives a program the time to end others that it has started outside its group.
constexpr absl::Duration kTermTime = absl::Milliseconds(500);

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::StatusOr<pid_t> Spawn(const Command& command, int output_fd) {
  SpawnWishes wishes(POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_addopen(&wishes.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&wishes.actions, output_fd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&wishes.actions, output_fd, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&wishes.actions, STDERR_FILENO + 1);
  posix_spawn_file_actions_addchdir_np(&wishes.actions, "/");
  pid_t pid = 0;
  const int error = posix_spawn(&pid, command.program.c_str(), &wishes.actions, &wishes.attributes,
                                Pointers(command.argv).data(), Pointers(command.env).data());
  if (error != 0) return ErrnoStatus(error, absl::StrCat("start ", command.program));
  return pid;
}

// Appends what the pipe holds; false at its end.
bool Drain(int fd, std::string* output) {
  char buffer[16384];
  while (true) {
    const ssize_t n = read(fd, buffer, sizeof(buffer));
    if (n > 0) {
      output->append(buffer, std::min<size_t>(n, kMaxOutput - output->size()));
    } else {
      return n < 0 && (errno == EAGAIN || errno == EINTR);
    }
  }
}

int PollMilliseconds(absl::Duration left) {
  return static_cast<int>(std::clamp<int64_t>(
      absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))), 0, 3'600'000));
}

// Collects output until the program has ended; false if that took longer than `limit`.
bool GatherUntilExit(int pidfd, int output_fd, absl::Duration limit, std::string* output) {
  const RealClock clock;
  const MonoTime deadline = clock.Get().mono + limit;
  pollfd fds[] = {{pidfd, POLLIN, 0}, {output_fd, POLLIN, 0}};
  while (true) {
    const absl::Duration left = deadline - clock.Get().mono;
    if (left <= absl::ZeroDuration()) return false;
    if (poll(fds, 2, PollMilliseconds(left)) < 0 && errno != EINTR) return false;
    const bool exited = (fds[0].revents & POLLIN) != 0;
    if (fds[1].fd >= 0 && !Drain(output_fd, output)) fds[1].fd = -1;
    if (exited) return true;
  }
}

}  // namespace

std::string CommandResult::HowItEnded() const {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return absl::StrCat("signal ", signal, " (", strsignal(signal), ")");
  }
  return absl::StrCat("exit code ", WEXITSTATUS(wait_status));
}

std::string CommandResult::LastWords() const {
  std::vector<absl::string_view> lines = absl::StrSplit(output, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    absl::string_view words = absl::StripAsciiWhitespace(*line);
    if (!words.empty()) return ToValidUtf8(words);
  }
  return "";
}

absl::StatusOr<CommandResult> RunCommand(const Command& command) {
  int pipe_fds[2];
  if (pipe2(pipe_fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  UniqueFd read_end(pipe_fds[0]), write_end(pipe_fds[1]);
  fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  HPC_ASSIGN_OR_RETURN(const pid_t pid, Spawn(command, write_end.get()));
  write_end.Reset();
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  CommandResult result;
  const bool ended =
      pidfd.ok() && GatherUntilExit(pidfd.get(), read_end.get(), command.limit, &result.output);
  if (!ended) {
    kill(pid, SIGTERM);
    if (pidfd.ok()) GatherUntilExit(pidfd.get(), read_end.get(), kTermTime, &result.output);
    kill(-pid, SIGKILL);
  }
  while (waitpid(pid, &result.wait_status, 0) < 0) {
    if (errno != EINTR) return ErrnoStatus(errno, absl::StrCat("wait for ", command.program));
  }
  if (!ended) {
    return absl::DeadlineExceededError(absl::StrCat(
        command.program, " did not end within ", HumanDuration(command.limit), " and was killed"));
  }
  return result;
}

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> env;
  for (char** entry = environ; *entry != nullptr; ++entry) env.emplace_back(*entry);
  return env;
}

}  // namespace hpc::worker
