#include "worker/rendezvous/store_server.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "worker/rendezvous/ip_address.h"
#include "worker/rendezvous/keepalive.h"
#include "worker/rendezvous/peer_account.h"
#include "worker/rendezvous/store_requests.h"

namespace hpc::worker {
namespace {

using store::ParseIp;
using store::SocketAddress;
using store::StoreRequests;

constexpr absl::Duration kReportEvery = absl::Milliseconds(100);
// How long no connection is accepted once the process has run out of descriptors or memory. New
// connections wait in the backlog meanwhile.
constexpr absl::Duration kAcceptPause = absl::Milliseconds(100);
constexpr size_t kReadBytes = size_t{64} << 10;
// How much is sent to one client in one round, so that a fast reader of large values does not keep
// others waiting.
constexpr size_t kWriteBytesPerRound = size_t{4} << 20;
// This many refusals are logged. Further ones are only counted, so that a port scan does not fill
// the log.
constexpr int64_t kLoggedRefusals = 20;

class Server : public StoreServer {
 public:
  Server(EventLoop* loop, UniqueFd listener, int port, std::set<std::string> allowed,
         const StoreServerOptions& options);
  ~Server() override;

  int port() const override { return port_; }
  StoreStatus Status() const override;
  void OnChange(std::function<void()> callback) override { on_change_ = std::move(callback); }
  void AnswerKeepalives(std::function<std::string(const std::string&)> answer) override {
    answer_keepalive_ = std::move(answer);
  }

 private:
  struct Connection {
    UniqueFd fd;
    SocketAddress peer;
    uint32_t events = EPOLLIN;  // what is watched for
    bool of_account = true;     // false: of the worker's own account
    bool begun = false;         // its first bytes have come
    bool keepalives = false;    // it is not a client of the store
    std::string frame;          // what has come of a keepalive
  };

  void OnListener();
  void AcceptLater();
  void Admit(UniqueFd fd, const SocketAddress& peer);
  void OnConnection(StoreRequests::ClientId id, uint32_t events);
  // False if the connection is at its end.
  bool Read(StoreRequests::ClientId id, Connection& connection);
  bool ReadKeepalives(Connection& connection, absl::string_view bytes);
  bool Write(StoreRequests::ClientId id, const Connection& connection);
  void FlushTouched();
  // Called after something happened to a connection. Closes it if it must end; otherwise watches
  // for what comes next.
  void Settle(StoreRequests::ClientId id, bool open);
  void Watch(StoreRequests::ClientId id, Connection& connection);
  void Close(StoreRequests::ClientId id);
  void Refuse(const SocketAddress& peer, absl::string_view why);
  void RefuseAccount(int socket, const SocketAddress& peer);
  void ReportSoon();
  void Report();

  EventLoop* const loop_;
  const UniqueFd listener_;
  const int port_;
  const std::set<std::string> allowed_;  // canonical; empty: any
  const std::optional<uint32_t> account_;
  const int max_connections_;
  const bool only_keepalives_;

  StoreRequests core_;
  std::map<StoreRequests::ClientId, Connection> connections_;
  int64_t refused_ = 0;
  std::optional<uint32_t> refused_account_;
  std::optional<EventLoop::TimerId> accept_timer_;

  std::function<std::string(const std::string&)> answer_keepalive_;
  std::function<void()> on_change_;
  std::optional<EventLoop::TimerId> report_timer_;
  uint64_t reported_version_ = 0;
  StoreStatus reported_;  // what OnChange is about
};

Server::Server(EventLoop* loop, UniqueFd listener, int port, std::set<std::string> allowed,
               const StoreServerOptions& options)
    : loop_(loop),
      listener_(std::move(listener)),
      port_(port),
      allowed_(std::move(allowed)),
      account_(options.account),
      max_connections_(options.max_connections),
      only_keepalives_(options.only_keepalives) {
  loop_->Add(listener_.get(), EPOLLIN, [this](uint32_t) { OnListener(); });
}

Server::~Server() {
  loop_->Remove(listener_.get());
  for (const auto& [id, connection] : connections_) loop_->Remove(connection.fd.get());
  if (accept_timer_.has_value()) loop_->Cancel(*accept_timer_);
  if (report_timer_.has_value()) loop_->Cancel(*report_timer_);
}

StoreStatus Server::Status() const {
  StoreStatus status = core_.Status();
  status.refused = refused_;
  status.refused_account = refused_account_;
  return status;
}

void Server::OnListener() {
  while (true) {
    SocketAddress peer;
    peer.size = sizeof peer.storage;
    UniqueFd fd(accept4(listener_.get(), peer.get(), &peer.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.ok()) {
      Admit(std::move(fd), peer);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      LogWarning("rendezvous store cannot accept", {{"port", port_}, {"error", strerror(errno)}});
      AcceptLater();
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

void Server::AcceptLater() {
  // The listener stays readable, so watching it further would be a busy loop.
  loop_->Modify(listener_.get(), 0);
  accept_timer_ = loop_->At(loop_->clock().Get().mono + kAcceptPause, [this] {
    accept_timer_.reset();
    loop_->Modify(listener_.get(), EPOLLIN);
  });
}

void Server::Admit(UniqueFd fd, const SocketAddress& peer) {
  const std::string ip = peer.CanonicalIp();
  if (!allowed_.empty() && !allowed_.contains(ip)) {
    return Refuse(peer, "not an address of the attempt's nodes");
  }
  const bool of_account = !account_ || store::MayBeOf(fd.get(), *account_);
  // If all nodes are on one PC, the workers of the attempt's other nodes connect from this PC.
  if (!of_account && !store::MayBeOf(fd.get(), geteuid())) return RefuseAccount(fd.get(), peer);
  if (static_cast<int>(connections_.size()) >= max_connections_) {
    return Refuse(peer, absl::StrCat("there are ", max_connections_, " connections already"));
  }
  const int on = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int raw_fd = fd.get();
  const StoreRequests::ClientId id = core_.Connect(ip);
  connections_[id] = {.fd = std::move(fd), .peer = peer, .of_account = of_account};
  loop_->Add(raw_fd, EPOLLIN, [this, id](uint32_t events) { OnConnection(id, events); });
}

void Server::OnConnection(StoreRequests::ClientId id, uint32_t events) {
  Connection& connection = connections_.at(id);
  bool open = true;
  if (events & EPOLLIN) {
    open = Read(id, connection);
  } else if (events & (EPOLLHUP | EPOLLERR)) {
    open = false;
  }
  if (open && (events & EPOLLOUT)) open = Write(id, connection);
  Settle(id, open);
  FlushTouched();
  ReportSoon();
}

bool Server::Read(StoreRequests::ClientId id, Connection& connection) {
  std::array<char, kReadBytes> bytes;
  const ssize_t n = recv(connection.fd.get(), bytes.data(), bytes.size(), 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  const absl::string_view came(bytes.data(), static_cast<size_t>(n));
  if (!std::exchange(connection.begun, true)) {
    connection.keepalives = came[0] == store::kKeepaliveMark;
    if (!connection.keepalives && only_keepalives_) {
      Refuse(connection.peer, "the store is gone");
      return false;
    }
    if (!connection.keepalives && !connection.of_account) {
      RefuseAccount(connection.fd.get(), connection.peer);
      return false;
    }
  }
  if (connection.keepalives) return ReadKeepalives(connection, came);
  core_.Receive(id, came);
  return true;
}

bool Server::ReadKeepalives(Connection& connection, absl::string_view bytes) {
  connection.frame.append(bytes.data(), bytes.size());
  while (connection.frame.size() >= store::kKeepaliveBytes) {
    if (!answer_keepalive_) return false;
    const std::string answer =
        answer_keepalive_(connection.frame.substr(0, store::kKeepaliveBytes));
    connection.frame.erase(0, store::kKeepaliveBytes);
    if (answer.empty()) return false;
    // The answer is small. If it does not fit into the socket's buffer, the other end takes no
    // answers.
    const ssize_t n = send(connection.fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    if (n != static_cast<ssize_t>(answer.size())) return false;
  }
  return true;
}

bool Server::Write(StoreRequests::ClientId id, const Connection& connection) {
  size_t left = kWriteBytesPerRound;
  while (left > 0) {
    const absl::string_view output = core_.Output(id);
    if (output.empty()) return true;
    const ssize_t n =
        send(connection.fd.get(), output.data(), std::min(output.size(), left), MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    left -= static_cast<size_t>(n);
    core_.Sent(id, static_cast<size_t>(n));
  }
  return true;
}

void Server::FlushTouched() {
  // Sending to a client may carry out its next requests, which may touch other clients and itself.
  // Each client is sent to only once, so that two clients which keep each other busy leave the loop
  // to others.
  std::set<StoreRequests::ClientId> sent;
  for (auto touched = core_.TakeTouched(); !touched.empty(); touched = core_.TakeTouched()) {
    for (const StoreRequests::ClientId id : touched) {
      const auto it = connections_.find(id);
      if (it == connections_.end()) continue;
      const bool open = !sent.insert(id).second || Write(id, it->second);
      Settle(id, open);
    }
  }
}

void Server::Settle(StoreRequests::ClientId id, bool open) {
  Connection& connection = connections_.at(id);
  const absl::Status& failure = core_.Failure(id);
  if (!failure.ok()) Refuse(connection.peer, failure.message());
  if (open && failure.ok()) {
    Watch(id, connection);
  } else {
    Close(id);
  }
}

void Server::Watch(StoreRequests::ClientId id, Connection& connection) {
  const uint32_t events = (core_.WantsInput(id) ? uint32_t{EPOLLIN} : 0) |
                          (core_.Output(id).empty() ? 0 : uint32_t{EPOLLOUT});
  if (events == connection.events) return;
  connection.events = events;
  loop_->Modify(connection.fd.get(), events);
}

void Server::Close(StoreRequests::ClientId id) {
  const auto it = connections_.find(id);
  loop_->Remove(it->second.fd.get());
  connections_.erase(it);
  core_.Disconnect(id);
}

void Server::Refuse(const SocketAddress& peer, absl::string_view why) {
  ++refused_;
  if (refused_ > kLoggedRefusals) return;
  LogWarning("rendezvous store closed a connection",
             {{"port", port_}, {"peer", peer.CanonicalIp()}, {"why", why}});
}

void Server::RefuseAccount(int socket, const SocketAddress& peer) {
  Refuse(peer, "it comes from another account of this PC than the attempt's");
  const auto account = store::AccountOf(socket);
  if (!account || account == refused_account_) return;
  refused_account_ = account;
  // Whoever looks why the program did not get in looks at once.
  if (report_timer_.has_value()) loop_->Cancel(*report_timer_);
  report_timer_ = loop_->At(loop_->clock().Get().mono, [this] { Report(); });
}

void Server::ReportSoon() {
  if (report_timer_.has_value() || core_.version() == reported_version_) return;
  report_timer_ = loop_->At(loop_->clock().Get().mono + kReportEvery, [this] { Report(); });
}

void Server::Report() {
  report_timer_.reset();
  reported_version_ = core_.version();
  StoreStatus now = Status();
  now.connections = 0;
  now.refused = 0;
  if (now == reported_) return;
  reported_ = std::move(now);
  // A copy, since the callback may replace itself.
  const std::function<void()> callback = on_change_;
  if (callback) callback();
}

absl::Status SocketError(const StoreServerOptions& options, absl::string_view what) {
  return absl::UnavailableError(absl::StrCat("rendezvous store on ", options.address, " port ",
                                             options.port, ": ", what, ": ", strerror(errno)));
}

absl::StatusOr<UniqueFd> OpenListener(const StoreServerOptions& options,
                                      const SocketAddress& address) {
  const int family = address.storage.ss_family;
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.ok()) return SocketError(options, "cannot open a socket");
  const int on = 1;
  // With SO_REUSEADDR a port can be bound again while old connections are in TIME_WAIT.
  // SO_REUSEPORT is never used: two stores on one port would share the ranks of an attempt.
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (bind(fd.get(), address.get(), address.size) != 0) return SocketError(options, "cannot bind");
  if (listen(fd.get(), SOMAXCONN) != 0) return SocketError(options, "cannot listen");
  return fd;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StoreServer>> StoreServer::Listen(
    EventLoop* loop, const StoreServerOptions& options) {
  HPC_ASSIGN_OR_RETURN(SocketAddress address, ParseIp(options.address, options.port));
  if (address.IsWildcard()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rendezvous store on ", options.address,
        ": give the address of one interface; the store has no authentication of its own"));
  }
  std::set<std::string> allowed;
  for (const std::string& literal : options.allowed_addresses) {
    HPC_ASSIGN_OR_RETURN(const SocketAddress one, ParseIp(literal, 0));
    allowed.insert(one.CanonicalIp());
  }
  HPC_ASSIGN_OR_RETURN(UniqueFd listener, OpenListener(options, address));
  address.size = sizeof address.storage;
  if (getsockname(listener.get(), address.get(), &address.size) != 0) {
    return SocketError(options, "cannot read the port back");
  }
  return std::make_unique<Server>(loop, std::move(listener), address.port(), std::move(allowed),
                                  options);
}

}  // namespace hpc::worker
