#include "worker/supervisor/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/files.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "worker/supervisor/cgroup_leaf.h"
#include "worker/supervisor/scope.h"
#include "worker/supervisor/spawn.h"

namespace hpc::worker {
namespace {

// Larger than any message a supervisor sends.
constexpr size_t kMaxEventBytes = 16 << 10;

class SocketClient : public SupervisorClient {
 public:
  SocketClient(EventLoop* loop, std::string dir, UniqueFd socket, Callbacks callbacks)
      : loop_(loop),
        dir_(std::move(dir)),
        socket_(std::move(socket)),
        callbacks_(std::make_shared<const Callbacks>(std::move(callbacks))) {
    loop_->Add(socket_.get(), EPOLLIN, [this](uint32_t) { OnReadable(); });
  }
  ~SocketClient() override { Close(); }

  absl::Status Send(const SupervisorCommand& command) override;

  void AskForScope(int64_t pid, const std::string& name) {
    scope_ = ScopeRequest::Start(loop_, pid, ScopeUnitName(name, pid), [this](absl::Status) {
      // Whether it still listens is told by its socket.
      (void)Send(ScopeRefused{});
    });
    if (scope_ == nullptr) (void)Send(ScopeRefused{});
  }

 private:
  void OnReadable();
  void OnClosed();
  // False if the client was destroyed by what it called.
  bool Deliver(const SupervisorEvent& event);
  bool DeliverRestOfJournal();
  std::string LossReason() const;
  void Close() {
    scope_.reset();
    if (!socket_.ok()) return;
    loop_->Remove(socket_.get());
    socket_.Reset();
  }

  EventLoop* loop_;
  std::string dir_;
  UniqueFd socket_;
  // Shared so that a callback may destroy the client without destroying itself.
  std::shared_ptr<const Callbacks> callbacks_;
  std::unique_ptr<ScopeRequest> scope_;
  // How far the journal has been told, to go on from there should the supervisor be killed.
  size_t journal_events_seen_ = 0;
  std::map<std::pair<int32_t, bool>, OutputGrown> outputs_seen_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

absl::Status SocketClient::Send(const SupervisorCommand& command) {
  if (!socket_.ok())
    return absl::UnavailableError(absl::StrCat("supervisor of ", dir_, " is gone"));
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

void SocketClient::OnReadable() {
  char buffer[kMaxEventBytes];
  // Closed behind AllGone: nothing is read any more, and nothing was lost.
  while (socket_.ok()) {
    const ssize_t n = recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) return OnClosed();
    const auto event = DecodeSupervisorEvent(std::string(buffer, n));
    // One that a newer supervisor knows and we do not.
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
    ++journal_events_seen_;
  }
  if (std::holds_alternative<AllGone>(event)) Close();
  const std::shared_ptr<const Callbacks> callbacks = callbacks_;
  const std::weak_ptr<bool> alive = alive_;
  callbacks->on_event(event);
  return !alive.expired();
}

// What the supervisor wrote down but did not live to send. False if a callback destroyed us.
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

std::string SocketClient::LossReason() const {
  const std::string log = ReadFile(absl::StrCat(dir_, "/supervisor.log")).value_or("");
  const std::vector<std::string> lines = absl::StrSplit(log, '\n', absl::SkipWhitespace());
  return absl::StrCat("the supervisor of ", dir_, " ended before its attempt did",
                      lines.empty() ? "" : ": ", lines.empty() ? "" : lines.back());
}

void SocketClient::OnClosed() {
  Close();
  const std::shared_ptr<const Callbacks> callbacks = callbacks_;
  const std::string reason = LossReason();
  if (DeliverRestOfJournal()) callbacks->on_lost(reason);
}

// Reaps a child of ours whenever it ends, which may be after its client is gone.
void ReapWhenItEnds(EventLoop* loop, UniqueFd pidfd) {
  auto fd = std::make_shared<UniqueFd>(std::move(pidfd));
  loop->Add(fd->get(), EPOLLIN, [loop, fd](uint32_t) {
    siginfo_t ignored;
    waitid(P_PIDFD, fd->get(), &ignored, WEXITED | WNOHANG);
    loop->Remove(fd->get());
  });
}

// Not atomically and not synced: nobody reads it but the supervisor about to be started.
absl::Status WriteSpec(const SupervisorSpec& spec) {
  HPC_RETURN_IF_ERROR(MakeDirs(spec.dir, 0700));
  const std::string path = absl::StrCat(spec.dir, "/spec");
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("make ", path));
  const std::string bytes = Encode(spec);
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t n = write(fd.get(), bytes.data() + written, bytes.size() - written);
    if (n < 0) {
      const absl::Status status = ErrnoStatus(errno, absl::StrCat("write ", path));
      unlink(path.c_str());
      return status;
    }
    written += n;
  }
  return absl::OkStatus();
}

// A path of any length fits when it starts at a descriptor of its folder.
absl::StatusOr<UniqueFd> ConnectTo(const std::string& dir) {
  const UniqueFd folder(open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok()) return ErrnoStatus(errno, absl::StrCat("open ", dir));
  UniqueFd socket_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_fd.ok()) return ErrnoStatus(errno, "socket for a supervisor");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/supervisor.sock",
           folder.get());
  if (connect(socket_fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    return socket_fd;
  }
  const std::string what = absl::StrCat("connect to ", dir, "/supervisor.sock");
  if (errno == ECONNREFUSED) return absl::NotFoundError(what + ": nobody listens any more");
  return ErrnoStatus(errno, what);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SupervisorClient>> SupervisorClient::Spawn(
    EventLoop* loop, const std::string& program, const SupervisorSpec& spec, Callbacks callbacks) {
  SupervisorSpec complete = spec;
  if (spec.cgroup_parent.empty()) {
    complete.await_scope = ScopeRequest::Possible();
    if (!complete.await_scope) complete.cgroup_parent = OwnWritableCgroup();
  }
  HPC_RETURN_IF_ERROR(WriteSpec(complete));
  auto spawned = SpawnSupervisor(program, spec.dir);
  if (!spawned.ok()) {
    unlink(absl::StrCat(spec.dir, "/spec").c_str());
    return spawned.status();
  }
  ReapWhenItEnds(loop, std::move(spawned->pidfd));
  auto client = std::make_unique<SocketClient>(loop, spec.dir, std::move(spawned->socket),
                                               std::move(callbacks));
  if (complete.await_scope) client->AskForScope(spawned->pid, spec.name);
  return client;
}

absl::StatusOr<std::unique_ptr<SupervisorClient>> SupervisorClient::Attach(EventLoop* loop,
                                                                           const std::string& dir,
                                                                           Callbacks callbacks) {
  HPC_ASSIGN_OR_RETURN(UniqueFd socket, ConnectTo(dir));
  return std::make_unique<SocketClient>(loop, dir, std::move(socket), std::move(callbacks));
}

}  // namespace hpc::worker
