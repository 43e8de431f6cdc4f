#include "coordinator/rpc/doors/accept_loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "coordinator/rpc/doors/client_hello.h"
#include "coordinator/rpc/doors/remote_address.h"

namespace hpc::coordinator {
namespace {

constexpr absl::Duration kOpeningTimeout = absl::Seconds(10);
constexpr size_t kMaxWaiting = 1024;
// A PC needs one connection; a person makes a few a second.
constexpr RateLimit kConnections = {.burst = 200, .each = absl::Milliseconds(10)};
constexpr RateLimit kToldRefusals = {.burst = 10, .each = absl::Seconds(6)};
// A TLS alert: fatal, protocol_version.
constexpr std::array<unsigned char, 7> kVersionAlert = {0x15, 3, 3, 0, 2, 2, 70};

// Keepalive finds peers that vanished without a word. A connection that is silent for this long is
// probed, and ends if the probes are not acknowledged. Leases find lost workers much sooner.
constexpr int kKeepaliveSeconds = 60;
constexpr int kKeepaliveInterval = 10;
constexpr int kUnacknowledgedMs = 20'000;

// gRPC has pings for the same purpose, but would set a timer with every message that is received.
void SetOptions(int fd) {
  const auto set = [fd](int level, int option, int value) {
    setsockopt(fd, level, option, &value, sizeof(value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, kKeepaliveSeconds);
  set(IPPROTO_TCP, TCP_KEEPINTVL, kKeepaliveInterval);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, kUnacknowledgedMs);
}

}  // namespace

AcceptLoop::AcceptLoop(const DescriptorPlan& plan, GuestBook* guests)
    : plan_(plan), guests_(guests), connections_(kConnections), refusals_(kToldRefusals) {}

void AcceptLoop::Stop() {
  if (!thread_.joinable()) return;
  stop_.Ring();
  thread_.join();
  doors_.clear();
  waiting_.clear();
}

void AcceptLoop::Add(Door door) { doors_.push_back(std::move(door)); }

void AcceptLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

void AcceptLoop::Run() {
  const RealClock clock;
  while (true) {
    std::vector<pollfd> polled = {{stop_.fd(), POLLIN, 0}};
    for (const Door& door : doors_) polled.push_back({door.listener.get(), POLLIN, 0});
    for (const Caller& caller : waiting_) polled.push_back({caller.fd.get(), POLLIN, 0});
    poll(polled.data(), polled.size(), NextTimeout(clock.Get().mono));
    if (polled[0].revents != 0) return;
    const MonoTime now = clock.Get().mono;
    Tell(guests_->EndOverdue(now), now);
    auto ready = polled.begin() + 1 + static_cast<ptrdiff_t>(doors_.size());
    for (auto caller = waiting_.begin(); caller != waiting_.end(); ++ready) {
      const bool done = (ready->revents != 0 || caller->deadline <= now) && Judge(&*caller, now);
      if (done) SendAway(&*caller);
      caller = done ? waiting_.erase(caller) : std::next(caller);
    }
    for (size_t i = 0; i < doors_.size(); ++i) {
      if (polled[i + 1].revents != 0) Accept(doors_[i]);
    }
  }
}

int AcceptLoop::NextTimeout(MonoTime now) const {
  MonoTime next = guests_->NextDeadline();
  // Callers wait in the order in which they came, so the first has the earliest deadline.
  if (!waiting_.empty()) next = std::min(next, waiting_.front().deadline);
  if (next == MonoTime::Infinite()) return -1;
  return static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(next - now))) + 1;
}

void AcceptLoop::Tell(const std::vector<GuestBook::Leave>& left, MonoTime now) {
  for (const GuestBook::Leave& leave : left) {
    if (!refusals_.Allow(leave.address, now)) continue;
    for (const Door& door : doors_) {
      if (!door.local) door.on_refusal(leave.address, leave.reason);
    }
  }
}

void AcceptLoop::Accept(const Door& door) {
  const MonoTime now = RealClock().Get().mono;
  while (true) {
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    UniqueFd fd(accept4(door.listener.get(), reinterpret_cast<sockaddr*>(&peer), &size,
                        SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.ok()) {
      if (errno == EMFILE || errno == ENFILE) {
        // The caller stays in the kernel's queue; without a pause this loop would spin.
        if (refusals_.Allow("", now)) LogError("no descriptors are left for a connection");
        poll(nullptr, 0, 100);
      }
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    if (door.local) {
      door.on_connection(door.listener.get(), std::move(fd));
      continue;
    }
    const std::string address = AddressOf(peer);
    // The kernel gives out the lowest free number, so a higher one means that the range is used up.
    if (fd.get() >= plan_.tcp_end) {
      if (refusals_.Allow(address, now)) {
        LogWarning("a connection was refused: too many are open",
                   {{"from", address}, {"descriptors", plan_.tcp_end}});
        door.on_refusal(address, absl::StrCat("too many connections are open: the limit of open "
                                              "files (LimitNOFILE) leaves ",
                                              plan_.tcp_end, " descriptors to them"));
      }
      continue;
    }
    if (!IsLoopback(address) && !connections_.Allow(address, now)) {
      if (refusals_.Allow(address, now)) door.on_refusal(address, "too many connections");
      continue;
    }
    Tell(guests_->Enter(fd.get(), peer, now), now);
    SetOptions(fd.get());
    if (!door.tls) {
      door.on_connection(door.listener.get(), std::move(fd));
      continue;
    }
    // The caller that has waited longest makes room.
    if (waiting_.size() >= kMaxWaiting) {
      SendAway(&waiting_.front());
      waiting_.pop_front();
    }
    waiting_.push_back({&door, std::move(fd), address, EndpointOf(peer), now + kOpeningTimeout});
  }
}

// A worker knocks before it comes in, so a connection that is gone again must not count.
void AcceptLoop::SendAway(Caller* caller) {
  if (!caller->fd.ok()) return;  // it was let in
  guests_->Left(caller->endpoint);
  caller->fd.Reset();
}

bool AcceptLoop::Judge(Caller* caller, MonoTime now) {
  std::string bytes(kMaxOpening, '\0');
  const ssize_t got = recv(caller->fd.get(), bytes.data(), bytes.size(), MSG_PEEK);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return true;  // it has gone
  const auto refuse = [&](const char* reason) {
    if (refusals_.Allow(caller->address, now)) caller->door->on_refusal(caller->address, reason);
    return true;
  };
  switch (ClassifyOpening(absl::string_view(bytes.data(), got < 0 ? 0 : got))) {
    case Opening::kTls13: {
      const int any = 1;
      setsockopt(caller->fd.get(), SOL_SOCKET, SO_RCVLOWAT, &any, sizeof(any));
      caller->door->on_connection(caller->door->listener.get(), std::move(caller->fd));
      return true;
    }
    case Opening::kOldTls:
      send(caller->fd.get(), kVersionAlert.data(), kVersionAlert.size(), MSG_NOSIGNAL);
      return refuse("it offers no TLS 1.3, only an older version");
    case Opening::kNotTls:
      return refuse("it speaks no TLS: plain text is not answered here");
    case Opening::kIncomplete:
      break;
  }
  if (caller->deadline <= now) return refuse("it said nothing that could be understood in time");
  // Wake up for more than has been seen.
  const int more = static_cast<int>(std::max<ssize_t>(got, 0)) + 1;
  setsockopt(caller->fd.get(), SOL_SOCKET, SO_RCVLOWAT, &more, sizeof(more));
  return false;
}

}  // namespace hpc::coordinator
