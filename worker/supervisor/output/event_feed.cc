#include "worker/supervisor/output/event_feed.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace hpc::worker {
namespace {

// One worker is served at a time; a few more connections may be about to close.
constexpr size_t kMaxConnections = 8;

}  // namespace

EventFeed::EventFeed(Poller* poller, const std::vector<OutputGrown>* outputs, OnCommand on_command)
    : poller_(poller), outputs_(outputs), on_command_(std::move(on_command)) {}

bool EventFeed::Listen(UniqueFd bound) {
  listener_ = std::move(bound);
  if (listen(listener_.get(), 16) != 0) return false;
  poller_->Add(listener_.get(), [this] { Accept(); });
  return true;
}

void EventFeed::Accept() {
  for (;;) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.ok()) return;
    if (connections_.size() < kMaxConnections) Adopt(std::move(socket));
  }
}

EventFeed::Connection& EventFeed::Adopt(UniqueFd socket) {
  const int fd = socket.get();
  Connection& connection = connections_.emplace_back();
  connection.socket = std::move(socket);
  for (const OutputGrown& state : *outputs_) {
    connection.outdated.push_back(state.bytes + state.cut_bytes > 0 || state.ended);
  }
  poller_->Add(fd, [this, &connection] { Read(connection); });
  return connection;
}

UniqueFd EventFeed::TakeListener() {
  if (listener_.ok()) poller_->Remove(listener_.get());
  return std::move(listener_);
}

UniqueFd EventFeed::TakeOwn() {
  const auto own = std::find_if(connections_.begin(), connections_.end(),
                                [](const Connection& connection) { return connection.own; });
  if (own == connections_.end() || own->closed) return UniqueFd();
  poller_->Remove(own->socket.get());
  UniqueFd socket = std::move(own->socket);
  connections_.erase(own);
  return socket;
}

void EventFeed::Close() {
  for (Connection& connection : connections_) connection.closed = true;
  DropClosed();
  TakeListener();
}

void EventFeed::Read(Connection& connection) {
  while (!connection.closed) {
    // A first look tells the size, since a StartRanks may be long.
    const ssize_t size =
        recv(connection.socket.get(), nullptr, 0, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      connection.closed = true;
      return;
    }
    std::string bytes(size, '\0');
    (void)!recv(connection.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    // A newer worker may know a command that we do not. It is ignored.
    const auto command = DecodeSupervisorCommand(bytes);
    if (command) on_command_(*command);
  }
}

void EventFeed::StreamGrew(size_t stream) {
  for (Connection& connection : connections_) connection.outdated[stream] = true;
}

bool EventFeed::Send(Connection& connection, const SupervisorEvent& event) {
  const std::string bytes = Encode(event);
  const ssize_t n = send(connection.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n < 0 && errno != EAGAIN) connection.closed = true;
  return n >= 0;
}

void EventFeed::Offer(const SupervisorEvent& event) {
  for (Connection& connection : connections_) {
    if (Flush(connection)) Send(connection, event);
  }
}

bool EventFeed::Flush(Connection& connection) {
  while (connection.told < events_.size()) {
    if (!Send(connection, events_[connection.told])) return false;
    ++connection.told;
  }
  for (size_t i = 0; i < connection.outdated.size(); ++i) {
    if (!connection.outdated[i]) continue;
    if (!Send(connection, (*outputs_)[i])) return false;
    connection.outdated[i] = false;
  }
  if (last_ && !connection.told_last) {
    if (!Send(connection, *last_)) return false;
    connection.told_last = true;
  }
  return true;
}

void EventFeed::Flush() {
  for (Connection& connection : connections_) {
    const bool waits = !Flush(connection) && !connection.closed;
    if (waits != connection.waits_to_write) {
      connection.waits_to_write = waits;
      poller_->Modify(connection.socket.get(), true, waits);
    }
  }
  DropClosed();
}

void EventFeed::DropClosed() {
  for (auto it = connections_.begin(); it != connections_.end();) {
    if (it->closed) {
      poller_->Remove(it->socket.get());
      it = connections_.erase(it);
    } else {
      ++it;
    }
  }
}

bool EventFeed::Drained() const {
  return std::none_of(connections_.begin(), connections_.end(),
                      [](const Connection& connection) { return connection.waits_to_write; });
}

bool EventFeed::HasListener() const {
  return std::any_of(connections_.begin(), connections_.end(),
                     [](const Connection& connection) { return !connection.waits_to_write; });
}

}  // namespace hpc::worker
