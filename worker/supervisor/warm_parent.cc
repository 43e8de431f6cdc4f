#include "worker/supervisor/warm_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "worker/loop/boot_time.h"
#include "worker/supervisor/descendants.h"
#include "worker/supervisor/os/privileges.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor/protocol/passed_files.h"

namespace hpc::worker {
namespace {

constexpr char kFirst[] = "nothing has imported its modules beforehand";
constexpr char kEnded[] = "what imported its modules has ended";
constexpr int kPatienceMs = 200;
constexpr size_t kMostWords = 1024;
// How long imports may take.
constexpr int64_t kMostNs = 120'000'000'000;
// What imports takes less. Whatever else runs there is none of ours.
constexpr rlim_t kMostCpuSeconds = 120;

// Variables that differ between the ranks of a gang, or between its attempts; "*" stands for any
// end. A warm parent has none of them, and is told the names.
constexpr std::string_view kOfARank[] = {
    "RANK",        "LOCAL_RANK",       "GROUP_RANK",      "ROLE_RANK",
    "ROLE_NAME",   "NODE_RANK",        "WORLD_SIZE",      "LOCAL_WORLD_SIZE",
    "NNODES",      "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE", "MASTER_ADDR",
    "MASTER_PORT", "TORCHELASTIC_*",   "HPC_*",           "SLURM_*",
    "PET_*"};

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

bool IsOfARank(const std::string& variable) {
  const std::string_view name = NameOf(variable);
  return std::any_of(std::begin(kOfARank), std::end(kOfARank), [&](std::string_view one) {
    const size_t begin = one.size() - 1;
    return one.back() == '*' ? name.substr(0, begin) == one.substr(0, begin) : name == one;
  });
}

std::string NamesOfARank() {
  std::string names;
  for (const std::string_view name : kOfARank) names.append(name).append(" ");
  return names;
}

// The name of a variable that only one of the two has, or both with different values.
std::string FirstDifference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::vector<std::string> different;
  std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(),
                                std::back_inserter(different));
  return different.empty() ? "" : std::string(NameOf(different.front()));
}

void Append(const std::string& text, std::string* to) {
  *to += text;
  *to += '\0';
}

// The number of arguments, these, and then the variables.
std::string Wish(const LaunchPlan& plan, size_t words) {
  std::string wish;
  const std::vector<std::string>& argv = plan.rank->argv;
  Append(std::to_string(argv.size() - words), &wish);
  for (size_t i = words; i < argv.size(); ++i) Append(argv[i], &wish);
  for (const std::string& variable : MergeEnvironment(plan.rank->env, *plan.added_env)) {
    Append(variable, &wish);
  }
  return wish;
}

}  // namespace

WarmKey WarmKeyOf(const LaunchPlan& plan, size_t words) {
  WarmKey key{.program = plan.rank->program, .workdir = plan.workdir, .umask = plan.umask};
  const auto& argv = plan.rank->argv;
  key.words.assign(argv.begin(), argv.begin() + std::min(words, argv.size()));
  for (const std::string& variable : MergeEnvironment(plan.rank->env, *plan.added_env)) {
    if (!IsOfARank(variable)) key.env.push_back(variable);
  }
  std::sort(key.env.begin(), key.env.end());
  return key;
}

bool WarmParent::Start(const LaunchPlan& plan, size_t words, Containment* containment) {
  WarmKey key = WarmKeyOf(plan, words);
  if (key == key_ && refused_) return false;
  if (key == key_ && process_.ok()) return true;  // it imports
  End();
  refused_ = false;
  key_ = std::move(key);
  containment_ = containment;
  const CgroupLeaf* const kept = containment->MakeKept();
  if (kept == nullptr) return false;
  int ends[2], output[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return false;
  socket_.Reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  // As a rank's, its output is a pipe. What it writes while it imports it keeps itself.
  if (pipe2(output, O_CLOEXEC) != 0) return false;
  const UniqueFd unread(output[0]), written(output[1]);
  RankSpec parent{.rank = 0, .local_rank = 0, .program = key_.program, .argv = key_.words};
  parent.env = key_.env;
  const std::vector<std::string> added = {"HPC_WARM_SOCKET=" + std::to_string(kLaunchedSocketFd)};
  LaunchPlan own = plan;
  own.rank = &parent;
  own.added_env = &added;
  own.stdout_fd = own.stderr_fd = written.get();
  own.socket_fd = theirs.get();
  own.leaf = kept;
  own.cpu_seconds = kMostCpuSeconds;
  const LaunchedRank launched = LaunchRank(own);
  if (launched.pid < 0) return false;
  pid_ = launched.pid;
  SetResident(pid_);
  started_ns_ = BootTimeNs();
  process_.Reset(static_cast<int>(syscall(SYS_pidfd_open, launched.pid, 0)));
  const std::string names = NamesOfARank();
  return process_.ok() && send(socket_.get(), names.data(), names.size(), MSG_NOSIGNAL) > 0;
}

std::optional<LaunchedRank> WarmParent::Fail(const std::string& reason) {
  reason_ = reason;
  End();
  return std::nullopt;
}

std::optional<std::string> WarmParent::Hear(int patience_ms) {
  pollfd said{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  int ready;
  do {
    ready = poll(&said, 1, patience_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) return std::nullopt;
  char words[kMostWords];
  const ssize_t n = recv(socket_.get(), words, sizeof words, MSG_DONTWAIT);
  return std::string(words, n < 0 ? 0 : n);
}

bool WarmParent::HasEnded() const {
  pollfd ended{.fd = process_.get(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, 0) > 0;
}

bool WarmParent::HearReady() {
  if (ready_) return true;
  const auto said = Hear(kPatienceMs);
  if (!said) {
    reason_ = "its modules are still being imported beforehand";
    refused_ = BootTimeNs() > started_ns_ + kMostNs;
    if (refused_) (void)Fail("importing its modules beforehand does not end");
    return false;
  }
  ready_ = said->rfind("ready ", 0) == 0;
  if (ready_ && !containment_->KeepsOnly(pid_)) {
    refused_ = !HasEnded();
    (void)Fail(refused_ ? "its imports start processes" : kEnded);
    return false;
  }
  if (ready_) return true;
  refused_ = said->rfind("cold ", 0) == 0;
  (void)Fail(refused_ ? said->substr(5) : kEnded);
  return false;
}

bool WarmParent::MayCopy(const LaunchPlan& plan) {
  if (!process_.ok()) {
    if (!refused_) reason_ = kFirst;
    return false;
  }
  const WarmKey wanted = WarmKeyOf(plan, key_.words.size());
  if (wanted == key_) return HearReady();
  if (wanted.env != key_.env) {
    reason_ = FirstDifference(wanted.env, key_.env) + " is not what it was";
  } else {
    reason_ = "another command ran before it";
  }
  return false;
}

std::optional<LaunchedRank> WarmParent::Launch(const LaunchPlan& plan) {
  if (!MayCopy(plan)) return std::nullopt;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return std::nullopt;
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const int error = SendFiles(socket_.get(), Wish(plan, key_.words.size()),
                              {plan.stdin_fd, plan.stdout_fd, plan.stderr_fd, theirs.get()});
  theirs.Reset();
  if (error == EMSGSIZE) {
    reason_ = "its variables and arguments are too long";
    return std::nullopt;
  }
  if (error != 0) return Fail(kEnded);
  const auto said = Hear(kPatienceMs);
  if (!said) return Fail("what imported its modules did not answer");
  if (said->rfind("cold ", 0) == 0) return Fail(said->substr(5));
  const pid_t pid = said->rfind("rank ", 0) == 0 ? atoi(said->c_str() + 5) : 0;
  const auto rank = ReadProcessStat(pid);
  if (!rank || pid == pid_ || rank->parent != getpid()) return Fail(kEnded);
  LaunchedRank launched{.pid = pid};
  if (plan.leaf != nullptr) {
    const OnOwnBehalf supervisor;
    // A rank that is not told to go ends.
    if (!plan.leaf->Add(pid)) return Fail("its process cannot be moved to the cgroup of the ranks");
  }
  if (send(ours.get(), "g", 1, MSG_NOSIGNAL) != 1) return Fail("its process has ended");
  fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  launched.status = std::move(ours);
  return launched;
}

void WarmParent::End() {
  if (process_.ok()) syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
  process_.Reset();
  if (containment_ != nullptr) containment_->EndKept();
  ready_ = false;
  socket_.Reset();
}

}  // namespace hpc::worker
