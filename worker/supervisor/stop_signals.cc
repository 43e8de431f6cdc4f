#include "worker/supervisor/stop_signals.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "worker/supervisor/descendants.h"
#include "worker/supervisor/os/process_stat.h"

namespace hpc::worker {
namespace {

std::string LinkOf(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = readlink(path.c_str(), target, sizeof target);
  return std::string(target, length < 0 ? 0 : static_cast<size_t>(length));
}

std::string Folder(int64_t pid) { return "/proc/" + std::to_string(pid); }

bool IsShell(int64_t pid) {
  static const std::set<std::string> kShells = {"ash", "bash", "busybox", "dash", "fish",
                                                "ksh", "mksh", "sh",      "zsh"};
  const std::string program = LinkOf(Folder(pid) + "/exe");
  return kShells.count(program.substr(program.rfind('/') + 1)) > 0;
}

// Whether the process has standard output or standard error open as `file`, which is a name such as
// "pipe:[4711]".
bool WritesTo(int64_t pid, const std::string& file) {
  const std::string folder = Folder(pid) + "/fd/";
  return LinkOf(folder + "1") == file || LinkOf(folder + "2") == file;
}

// Whether the process reads from a pipe to which another one of ours still writes.
bool HasWriter(int64_t pid) {
  const std::string input = LinkOf(Folder(pid) + "/fd/0");
  if (input.compare(0, 5, "pipe:") != 0) return false;
  const std::vector<int64_t> all = Descendants();
  return std::any_of(all.begin(), all.end(),
                     [&](int64_t other) { return other != pid && WritesTo(other, input); });
}

void Send(int64_t pid, int signal) {
  kill(static_cast<pid_t>(pid), signal);
  kill(static_cast<pid_t>(pid), SIGCONT);
}

}  // namespace

StopSignals::StopSignals() : signal_(SIGTERM) {}

// False: it was told already, or has ended.
bool StopSignals::Note(int64_t pid) {
  const auto stat = ReadProcessStat(pid);
  return stat && !stat->Ended() && told_.emplace(pid, stat->started_ns).second;
}

void StopSignals::Tell(int64_t pid) {
  if (!Note(pid)) return;
  const bool waits = IsShell(pid) && AnswersSignal(pid, signal_);
  // Taken before, since a command that is told may end while its shell is looked at.
  const std::vector<int64_t> commands = waits ? ChildrenOf(pid) : std::vector<int64_t>();
  Send(pid, signal_);
  for (const int64_t command : commands) {
    if (!HasWriter(command)) Tell(command);
  }
}

// Whoever is in the group has got the signal, and would take another one for a second Ctrl-C.
void StopSignals::InterruptGroup(int64_t group) {
  for (const int64_t pid : Descendants()) {
    const auto stat = ReadProcessStat(pid);
    if (stat && stat->group == group) Note(pid);
  }
  Send(-group, SIGINT);
}

void StopSignals::TellRank(int64_t pid, int signal) {
  if (signal == SIGINT) {
    const auto stat = ReadProcessStat(pid);
    // Before the rank has made its own group it is in that of the caller.
    const bool has_group = stat && stat->group == pid;
    if (has_group && !IgnoresSignal(pid, SIGINT)) return InterruptGroup(pid);
  } else {
    signal_ = signal;
  }
  Tell(pid);
}

void StopSignals::TellOrphans() {
  for (const int64_t pid : OwnChildren()) {
    if (!HasWriter(pid)) Tell(pid);
  }
}

}  // namespace hpc::worker
