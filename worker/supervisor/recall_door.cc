#include "worker/supervisor/recall_door.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace hpc::worker {
namespace {

// More connections than the coordinator ever has a gang make at a time.
constexpr size_t kMaxConnections = 8;

// The address in the worker's form: ::ffff:10.0.0.1 is 10.0.0.1.
std::string PeerAddress(const sockaddr_storage& peer) {
  char text[INET6_ADDRSTRLEN] = "";
  if (peer.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(peer).sin_addr, text, sizeof text);
    return text;
  }
  const in6_addr& ip = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&ip)) {
    inet_ntop(AF_INET, ip.s6_addr + 12, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, &ip, text, sizeof text);
  }
  return text;
}

}  // namespace

RecallDoor::RecallDoor(Poller* poller, OnRecall on_recall)
    : poller_(poller), on_recall_(std::move(on_recall)) {}

void RecallDoor::Hold(UniqueFd bound, const RecallSecret& secret,
                      std::vector<std::string> allowed) {
  bound_ = std::move(bound);
  secret_ = secret;
  allowed_ = std::move(allowed);
}

bool RecallDoor::Open() {
  if (!bound_.ok()) return true;
  listener_ = std::move(bound_);
  if (listen(listener_.get(), 16) != 0) return false;
  poller_->Add(listener_.get(), [this] { Accept(); });
  return true;
}

void RecallDoor::Accept() {
  for (;;) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    UniqueFd socket(accept4(listener_.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                            SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.ok()) return;
    connections_.remove_if([](const Connection& one) { return !one.socket.ok(); });
    const bool known = std::count(allowed_.begin(), allowed_.end(), PeerAddress(peer)) > 0;
    if (!known || connections_.size() >= kMaxConnections) continue;
    const int fd = socket.get();
    Connection& connection = connections_.emplace_back();
    connection.socket = std::move(socket);
    poller_->Add(fd, [this, &connection] { Read(connection); });
  }
}

void RecallDoor::Read(Connection& connection) {
  while (connection.socket.ok()) {
    std::array<char, kMaxRecallQuestion> bytes;
    const ssize_t n = recv(connection.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0 || connection.asked) return Close(connection);
    connection.line.append(bytes.data(), static_cast<size_t>(n));
    Take(connection);
  }
}

void RecallDoor::Take(Connection& connection) {
  const bool whole = connection.line.find('\n') != std::string::npos;
  if (!whole && connection.line.size() < kMaxRecallQuestion) return;
  const auto grace_ms = ParseRecallQuestion(connection.line, secret_.key);
  if (!grace_ms) return Close(connection);
  connection.asked = true;
  if (gone_) return Answer(connection);
  on_recall_(*grace_ms);
}

void RecallDoor::TellGone() {
  if (std::exchange(gone_, true)) return;
  for (const Connection& connection : connections_) {
    if (connection.asked && connection.socket.ok()) Answer(connection);
  }
}

// Nothing was sent to this socket before, so its buffer takes the whole answer.
void RecallDoor::Answer(const Connection& connection) const {
  const std::string answer = RecallAnswer(secret_.proof);
  (void)!send(connection.socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
}

void RecallDoor::Close() {
  for (Connection& connection : connections_) {
    if (connection.socket.ok()) Close(connection);
  }
  if (listener_.ok()) poller_->Remove(listener_.get());
  listener_.Reset();
  bound_.Reset();
}

void RecallDoor::Close(Connection& connection) {
  poller_->Remove(connection.socket.get());
  connection.socket.Reset();
}

}  // namespace hpc::worker
