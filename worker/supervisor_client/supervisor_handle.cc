#include "worker/supervisor_client/supervisor_handle.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/os/cgroup_name.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor/protocol/order.h"
#include "worker/supervisor/protocol/passed_files.h"
#include "worker/supervisor/protocol/python_words.h"
#include "worker/supervisor_client/foreign_file.h"
#include "worker/supervisor_client/held_cgroup.h"
#include "worker/supervisor_client/record.h"
#include "worker/supervisor_client/scope.h"
#include "worker/supervisor_client/strays.h"

namespace hpc::worker {
namespace {

// Larger than any message that a supervisor sends.
constexpr size_t kMaxEventBytes = 16 << 10;
constexpr size_t kMaxLog = 64 << 10;
constexpr absl::Duration kLookEvery = absl::Milliseconds(500);

class SocketClient : public SupervisorClient {
 public:
  SocketClient(EventLoop* loop, std::string dir, SpawnedSupervisor process, Callbacks callbacks)
      : loop_(loop),
        dir_(std::move(dir)),
        process_(std::move(process)),
        pid_(process_.pid),
        socket_(std::move(process_.socket)),
        callbacks_(std::make_shared<const Callbacks>(std::move(callbacks))) {
    loop_->Add(socket_.get(), EPOLLIN, [this](uint32_t) { OnReadable(); });
  }
  ~SocketClient() override { Close(); }

  absl::Status Send(const SupervisorCommand& command) override;

  void Kill() override {
    if (!socket_.ok()) return;
    kill(static_cast<pid_t>(pid_), SIGKILL);
    awaited_ = Awaited::kEnd;
    LookAgain(kLookEvery);
  }

  const std::string& held_cgroup() const override { return process_.cgroup; }

  std::optional<SpawnedSupervisor> Release() override {
    if (socket_.ok() || process_.listener.empty()) return std::nullopt;
    return std::exchange(process_, {});
  }

  void AskForScope(const std::string& unit) {
    scope_ = ScopeRequest::Start(loop_, pid_, unit, [this, unit](const absl::Status& answer) {
      if (!answer.ok()) return RefuseScope();
      if (process_.account) LendScope(unit, /*tries=*/1000);
    });
    if (scope_ == nullptr) RefuseScope();
  }

 private:
  void OnReadable();
  void OnClosed();
  // False if a callback destroyed the client.
  bool Deliver(const SupervisorEvent& event);
  bool DeliverRestOfJournal();
  void LookAgain(absl::Duration in);
  void Look();
  // The socket tells whether the supervisor still listens.
  void RefuseScope() { (void)Send(ScopeRefused{}); }
  // Lends the scope once systemd has made it, which is a moment after it said that it would.
  void LendScope(const std::string& unit, int tries);
  void Close() { (void)Detach(); }
  // From now on nothing is heard from the supervisor.
  UniqueFd Detach() {
    scope_.reset();
    loop_->Cancel(lend_timer_);
    loop_->Cancel(std::exchange(look_timer_, 0));
    if (socket_.ok()) loop_->Remove(socket_.get());
    return std::move(socket_);
  }

  EventLoop* loop_;
  std::string dir_;
  // The socket is put back in here once nothing more is heard of the attempt.
  SpawnedSupervisor process_;
  int64_t pid_;
  UniqueFd socket_;
  // Shared, so that a callback may destroy the client without destroying itself.
  std::shared_ptr<const Callbacks> callbacks_;
  std::unique_ptr<ScopeRequest> scope_;
  EventLoop::TimerId lend_timer_ = 0;
  // What the supervisor was asked for and has not reported yet. If it takes long, that is a reason
  // to check whether the supervisor lives.
  enum class Awaited { kNothing, kStart, kEnd } awaited_ = Awaited::kNothing;
  EventLoop::TimerId look_timer_ = 0;
  MonoTime looked_at_;
  // How much of the journal has been told. If the supervisor is killed, the rest is told from here.
  size_t journal_events_seen_ = 0;
  std::map<std::pair<int32_t, bool>, OutputGrown> outputs_seen_;
  Shortage shortage_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

absl::Status SocketClient::Send(const SupervisorCommand& command) {
  if (!socket_.ok())
    return absl::UnavailableError(absl::StrCat("supervisor of ", dir_, " is gone"));
  if (std::holds_alternative<StopRanks>(command)) {
    awaited_ = Awaited::kEnd;
  } else if (std::holds_alternative<StartRanks>(command) && awaited_ == Awaited::kNothing) {
    awaited_ = Awaited::kStart;
  }
  // The loop is awake anyway, so this may be a good time to look.
  const bool unseen = loop_->clock().Get().mono >= looked_at_ + kLookEvery;
  if (awaited_ != Awaited::kNothing || unseen)
    LookAgain(unseen ? absl::ZeroDuration() : kLookEvery);
  const std::string bytes = Encode(command);
  if (send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  const std::string what = absl::StrCat("send to the supervisor of ", dir_);
  if (error == EPIPE || error == ECONNRESET) return absl::UnavailableError(what);
  if (error == EAGAIN || error == EMSGSIZE) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": ", bytes.size(), " bytes do not fit"));
  }
  return ErrnoStatus(error, what);
}

void SocketClient::LookAgain(absl::Duration in) {
  if (look_timer_ != 0) return;
  look_timer_ = loop_->At(loop_->clock().Get().mono + in, [this] {
    look_timer_ = 0;
    Look();
  });
}

// A supervisor may be killed while one of its threads is stuck in a disk that hangs. Then only its
// main thread has ended, the process stays, and our socket never closes.
void SocketClient::Look() {
  looked_at_ = loop_->clock().Get().mono;
  const auto process = ReadProcessStat(pid_);
  if (!process || !process->Ended()) {
    // Its ranks, or root, have stopped the supervisor, which must end the ranks now.
    if (process && process->state == 'T' && awaited_ == Awaited::kEnd) {
      kill(static_cast<pid_t>(pid_), SIGCONT);
    }
    if (awaited_ != Awaited::kNothing) LookAgain(kLookEvery);
    return;
  }
  const std::weak_ptr<bool> alive = alive_;
  OnReadable();  // reads its last words
  if (!alive.expired() && socket_.ok()) OnClosed();
}

void SocketClient::LendScope(const std::string& unit, int tries) {
  const std::string path = Cgroup2Mount() + CgroupOf(pid_);
  if (absl::EndsWith(path, "/" + unit)) {
    absl::Status lent = RecordHeldCgroup(dir_, path);
    if (lent.ok()) lent = LendCgroup(path);
    if (!lent.ok()) return RefuseScope();
    process_.cgroup = path;
  } else if (tries > 0) {
    lend_timer_ = loop_->At(loop_->clock().Get().mono + absl::Milliseconds(1),
                            [this, unit, tries] { LendScope(unit, tries - 1); });
  }
}

void SocketClient::OnReadable() {
  char buffer[kMaxEventBytes];
  // If the socket is closed behind AllGone, nothing more is read, and nothing was lost.
  while (socket_.ok()) {
    const ssize_t n = recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return OnClosed();
    const auto event = DecodeSupervisorEvent(std::string(buffer, n));
    // A newer supervisor may know an event that we do not.
    if (!event) continue;
    if (!Deliver(*event)) return;
  }
}

bool SocketClient::Deliver(const SupervisorEvent& event) {
  if (const auto* output = std::get_if<OutputGrown>(&event)) {
    outputs_seen_[{output->rank, output->is_stderr}] = *output;
  } else if (std::holds_alternative<SupervisorReady>(event)) {
    scope_.reset();
  } else if (!std::holds_alternative<NotGone>(event)) {
    if (const auto* shortage = std::get_if<Shortage>(&event)) shortage_ = *shortage;
    ++journal_events_seen_;
    if (awaited_ == Awaited::kStart) awaited_ = Awaited::kNothing;
  }
  // A supervisor of our own account is not used for another attempt, since nothing shows what it
  // has left.
  if (std::holds_alternative<AllGone>(event)) {
    UniqueFd socket = Detach();
    if (process_.account) process_.socket = std::move(socket);
  }
  const std::shared_ptr<const Callbacks> callbacks = callbacks_;
  const std::weak_ptr<bool> alive = alive_;
  callbacks->on_event(event);
  return !alive.expired();
}

// Tells what the supervisor wrote down but did not live to send. False if a callback destroyed us.
bool SocketClient::DeliverRestOfJournal() {
  const auto journal = ReadJournal(dir_);
  if (!journal.ok()) return true;
  size_t position = 0;
  for (SupervisorEvent event : *journal) {
    if (auto* output = std::get_if<OutputGrown>(&event)) {
      const OutputGrown& seen = outputs_seen_[{output->rank, output->is_stderr}];
      if (seen.ended) continue;
      output->cut_bytes = std::max(output->cut_bytes, seen.cut_bytes);
    } else if (position++ < journal_events_seen_) {
      continue;
    }
    if (!Deliver(event)) return false;
    if (std::holds_alternative<AllGone>(event)) return false;
  }
  return true;
}

void SocketClient::OnClosed() {
  Close();
  const std::shared_ptr<const Callbacks> callbacks = callbacks_;
  if (!DeliverRestOfJournal()) return;
  callbacks->on_lost(LossInWords(shortage_.error != 0 ? InWords(shortage_) : ""));
}

// The file is in memory, because it contains secrets of the run.
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

// What a supervisor that has kept a warm parent for it may start in a moment: the program, with
// what it runs, and its folder. "": nothing is kept.
std::string CommandOf(const SupervisorSpec& spec) {
  if (!spec.warm || spec.ranks.empty()) return "";
  const std::vector<std::string>& argv = spec.ranks[0].argv;
  const size_t words = WordsOfPython(argv);
  if (words == 0) return "";
  return absl::StrCat(spec.ranks[0].program, "\n", spec.workdir, "\n",
                      absl::StrJoin(argv.begin(), argv.begin() + words, "\n"));
}

// Chooses how a supervisor that has had no attempt yet holds descendants. Returns the scope that
// systemd is to be asked for, or "".
std::string ChooseCgroup(const SpawnedSupervisor& process, bool scoped, SupervisorSpec* spec) {
  const std::string pid = absl::StrCat(process.pid);
  if (!process.cgroup.empty()) {
    spec->cgroup_parent = process.cgroup;
    spec->cgroup_leaf = kRanksCgroup;
    return "";
  }
  if (scoped) {
    // For our own account there is one scope for each attempt.
    spec->scope = process.account
                      ? ScopeUnitName(absl::StrCat(process.number), process.listener, process.pid)
                      : ScopeUnitName(spec->name, spec->dir, process.pid);
    return spec->scope;
  }
  if (spec->cgroup_parent.empty() && !process.account) spec->cgroup_parent = OwnWritableCgroup();
  spec->cgroup_leaf = AttemptCgroupName(spec->name, spec->dir, pid);
  return "";
}

absl::Status GiveOrder(const SpawnedSupervisor& process, const SupervisorSpec& spec, int journal,
                       int recall) {
  SupervisorOrder order{.dir = spec.dir, .spec = Encode(spec), .recallable = recall >= 0};
  std::vector<int> files = {journal};
  UniqueFd spec_file;
  if (order.spec.size() > kMostSpecInOrder) {
    HPC_ASSIGN_OR_RETURN(spec_file, MakeSpecFile(order.spec));
    order.spec.clear();
    files.push_back(spec_file.get());
  }
  if (recall >= 0) files.push_back(recall);
  const int error = SendFiles(process.socket.get(), Encode(order), files);
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, "order a supervisor");
}

// Records the supervisor beside the attempt dir, and gives it its order; or does neither.
absl::Status Begin(const SpawnedSupervisor& process, bool scoped, SupervisorSpec spec, int recall,
                   std::string* scope) {
  HPC_RETURN_IF_ERROR(ShowSocket(process.listener, spec.dir));
  *scope = ChooseCgroup(process, scoped, &spec);
  absl::Status begun;
  // If there is no cgroup, this is recorded, too, when a supervisor that did not get its order has
  // left a record of one.
  if (!process.cgroup.empty() || !RecordedHeldCgroup(spec.dir).empty()) {
    begun = RecordHeldCgroup(spec.dir, process.cgroup);
  }
  const auto journal = BeginJournal(spec.dir);
  begun.Update(journal.status());
  if (begun.ok()) begun = GiveOrder(process, spec, journal->get(), recall);
  if (!begun.ok()) RemoveSupervisorFiles(spec.dir);
  return begun;
}

// The pid of the process that listens at the other end, as the kernel knows it. 0 if the kernel
// does not know it, or if that process has ended.
int64_t PeerOf(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return 0;
  const auto process = ReadProcessStat(peer.pid);
  return process && process->Ended() ? 0 : peer.pid;
}

}  // namespace

absl::StatusOr<LaunchedSupervisor> SupervisorClient::Launch(
    SupervisorSpawner* spawner, const SupervisorSpec& spec,
    const std::optional<AccountIds>& account, int recall) {
  HPC_RETURN_IF_ERROR(MakeDirs(spec.dir, 0700));
  const bool scoped = spec.cgroup_parent.empty() && ScopeRequest::Possible();
  for (;;) {
    HPC_ASSIGN_OR_RETURN(SpawnedSupervisor process,
                         spawner->Spawn(account, spec.cgroup_parent, scoped, CommandOf(spec)));
    process.command = CommandOf(spec);
    LaunchedSupervisor launched{.process = {}, .dir = spec.dir, .scope = ""};
    const absl::Status begun = Begin(process, scoped, spec, recall, &launched.scope);
    if (begun.ok()) {
      launched.process = std::move(process);
      return launched;
    }
    // A supervisor that has waited may have been ended a moment ago.
    const bool again = process.has_served;
    SupervisorSpawner::End(std::move(process));
    if (!again) return begun;
  }
}

std::unique_ptr<SupervisorClient> SupervisorClient::Take(EventLoop* loop,
                                                         LaunchedSupervisor launched,
                                                         Callbacks callbacks) {
  auto client = std::make_unique<SocketClient>(loop, launched.dir, std::move(launched.process),
                                               std::move(callbacks));
  if (!launched.scope.empty()) client->AskForScope(launched.scope);
  return client;
}

absl::StatusOr<std::unique_ptr<SupervisorClient>> SupervisorClient::Attach(EventLoop* loop,
                                                                           const std::string& dir,
                                                                           Callbacks callbacks) {
  HPC_ASSIGN_OR_RETURN(UniqueFd socket, ConnectToSupervisor(dir));
  const int64_t pid = PeerOf(socket.get());
  if (pid == 0 || SupervisorTitle(pid).value_or("") != dir) {
    return absl::NotFoundError("nobody who lives listens for the supervisor of " + dir);
  }
  SpawnedSupervisor process{.pid = pid, .socket = std::move(socket)};
  process.cgroup = RecordedHeldCgroup(dir);
  return std::make_unique<SocketClient>(loop, dir, std::move(process), std::move(callbacks));
}

std::string InWords(const Shortage& shortage) {
  const bool full = shortage.error == ENOSPC || shortage.error == EDQUOT;
  return absl::StrCat(full ? "the disk is full: " : "", shortage.what, ": ",
                      strerror(shortage.error));
}

std::string LossInWords(const std::string& shortage) {
  if (shortage.empty()) return "its supervisor was killed";
  return absl::StrCat("its supervisor ended: ", shortage);
}

std::string LastWords(const std::string& dir) {
  const std::string log =
      ReadForeignFile(absl::StrCat(dir, "/supervisor.log"), kMaxLog).value_or("");
  const std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipWhitespace());
  return lines.empty() ? "" : lines.back();
}

std::string ShortageInWords(const std::vector<SupervisorEvent>& journal) {
  Shortage last;
  for (const SupervisorEvent& event : journal) {
    if (const auto* shortage = std::get_if<Shortage>(&event)) last = *shortage;
  }
  return last.error == 0 ? "" : InWords(last);
}

bool HasSupervisor(const std::string& dir) {
  const auto socket = ConnectToSupervisor(dir);
  if (!socket.ok()) return false;
  const int64_t pid = PeerOf(socket->get());
  return pid != 0 && SupervisorTitle(pid).value_or("") == dir;
}

}  // namespace hpc::worker
