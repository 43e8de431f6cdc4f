#include "client/cli/input/code_state.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "common/text.h"

extern char** environ;  // NOLINT: POSIX names it so

namespace hpc::client {
namespace {

constexpr absl::string_view kHead = "rev-parse --show-toplevel HEAD --abbrev-ref HEAD";
constexpr absl::string_view kDiff = "diff --no-color --no-ext-diff --no-textconv HEAD";

bool InsideWorkTree(std::string directory) {
  struct stat info = {};
  while (!directory.empty()) {
    if (stat(absl::StrCat(directory, "/.git").c_str(), &info) == 0) return true;
    directory.resize(directory.rfind('/') == std::string::npos ? 0 : directory.rfind('/'));
  }
  return stat("/.git", &info) == 0;
}

// Starts git with its output into `write_end`. It is quiet, in a process group of its own (our
// Ctrl-C is not meant for it), and has no signal blocked. Returns 0 if it cannot be started.
pid_t Spawn(const std::vector<std::string>& words, int write_end) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, write_end, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawnp(&pid, "git", &actions, &attributes, argv.data(), environ) != 0) pid = 0;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

// Returns at most `max_bytes`, and does not cut a character in two.
std::string CutUtf8(absl::string_view bytes, size_t max_bytes) {
  std::string text = ToValidUtf8(bytes);
  if (text.size() <= max_bytes) return text;
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text;
}

}  // namespace

CodeStateReader::CodeStateReader(const std::string& directory) : started_(absl::Now()) {
  if (!InsideWorkTree(directory)) return;
  head_ = Start(directory, std::string(kHead));
  diff_ = Start(directory, std::string(kDiff));
}

CodeStateReader::~CodeStateReader() {
  End(&head_);
  End(&diff_);
}

CodeStateReader::Process CodeStateReader::Start(const std::string& directory,
                                                const std::string& arguments) {
  // These options keep git from locking, refreshing or watching anything on the user's behalf.
  std::vector<std::string> words = {
      "git", "-C", directory, "--no-optional-locks", "-c", "core.fsmonitor=false"};
  for (absl::string_view word : absl::StrSplit(arguments, ' ')) words.emplace_back(word);
  Process process;
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return process;
  process.out.Reset(fds[0]);
  const UniqueFd write_end(fds[1]);
  fcntl(fds[0], F_SETFL, O_NONBLOCK);
  process.pid = Spawn(words, write_end.get());
  return process;
}

void CodeStateReader::Drain(Process* process, size_t max_bytes) {
  char buffer[64 << 10];
  while (process->text.size() <= max_bytes) {
    const ssize_t n = read(process->out.get(), buffer, sizeof(buffer));
    if (n <= 0) {
      process->ended = n == 0;
      return;
    }
    process->text.append(buffer, static_cast<size_t>(n));
  }
}

void CodeStateReader::End(Process* process) {
  if (process->pid == 0) return;
  if (!process->ended) kill(process->pid, SIGKILL);
  waitpid(process->pid, nullptr, 0);
  process->pid = 0;
}

v1::CodeState CodeStateReader::Finish(absl::Duration limit) {
  if (head_.pid == 0 || diff_.pid == 0) return {};
  const auto full = [](const Process& p) { return p.text.size() > kMaxDiffBytes; };
  while (!(head_.ended || full(head_)) || !(diff_.ended || full(diff_))) {
    const absl::Duration left = started_ + limit - absl::Now();
    if (left <= absl::ZeroDuration()) break;
    // poll skips a negative descriptor.
    pollfd fds[] = {{head_.ended ? -1 : head_.out.get(), POLLIN, 0},
                    {diff_.ended || full(diff_) ? -1 : diff_.out.get(), POLLIN, 0}};
    poll(fds, 2, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (fds[0].revents != 0) Drain(&head_, kMaxDiffBytes);
    if (fds[1].revents != 0) Drain(&diff_, kMaxDiffBytes);
  }
  v1::CodeState state = MakeCodeState(head_.text, diff_.text, diff_.ended);
  End(&head_);
  End(&diff_);
  return state;
}

v1::CodeState MakeCodeState(absl::string_view head, absl::string_view diff, bool diff_complete) {
  v1::CodeState state;
  const std::vector<absl::string_view> lines = absl::StrSplit(head, '\n');
  if (lines.empty() || lines[0].empty()) return state;
  state.set_repository(ToValidUtf8(lines[0]));
  if (lines.size() > 1 && lines[1] != "HEAD") state.set_commit(ToValidUtf8(lines[1]));
  if (lines.size() > 2 && lines[2] != "HEAD") state.set_branch(ToValidUtf8(lines[2]));
  state.set_dirty(!diff.empty());
  state.set_diff(CutUtf8(diff, kMaxDiffBytes));
  state.set_diff_cut(!diff_complete || state.diff().size() < diff.size());
  return state;
}

}  // namespace hpc::client
