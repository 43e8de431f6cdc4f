#include "coordinator/rpc/doors/guest_book.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordinator/rpc/doors/remote_address.h"

namespace hpc::coordinator {
namespace {

// How often the book checks which connections are open. Where many come and go, it does not check
// for each of them.
constexpr absl::Duration kLookInterval = absl::Milliseconds(100);

}  // namespace

GuestLimits GuestLimitsOf(const DescriptorPlan& plan) {
  GuestLimits limits;
  limits.total = std::clamp(plan.tcp_end / 2, 1, limits.total);
  limits.loopback = std::max(1, limits.total / 2);
  limits.per_address = std::clamp(limits.total / 4, 1, limits.per_address);
  return limits;
}

int GuestBook::LimitOf(const std::string& address) const {
  return IsLoopback(address) ? limits_.loopback : limits_.per_address;
}

std::vector<GuestBook::Leave> GuestBook::Enter(int fd, const sockaddr_storage& peer, MonoTime now) {
  const std::string address = AddressOf(peer);
  const std::string network = NetworkOf(address);
  const std::string endpoint = EndpointOf(peer);
  const std::lock_guard lock(mutex_);
  if (const auto before = by_endpoint_.find(endpoint); before != by_endpoint_.end()) {
    Erase(guests_.find(before->second));  // the port is used again: it was closed
  }
  std::vector<Leave> left;
  const int limit = LimitOf(address);
  const auto crowded = [&] {
    const auto found = by_network_.find(network);
    return found != by_network_.end() && static_cast<int>(found->second.size()) >= limit;
  };
  const auto full = [&] { return static_cast<int>(guests_.size()) >= limits_.total; };
  if (crowded() || full()) EraseClosed(now);
  while (crowded()) {
    if (!End(guests_.find(*by_network_[network].begin()))) continue;
    left.push_back(
        {address,
         absl::StrCat("too many connections on which nobody has shown a "
                      "member's certificate: ",
                      limit, " of ", network == address ? "this address" : network, " at a time")});
  }
  while (full()) {
    const std::string oldest = guests_.begin()->second.address;
    if (!End(guests_.begin())) continue;
    left.push_back({oldest, absl::StrCat("too many connections on which nobody has shown a "
                                         "member's certificate: ",
                                         limits_.total, " in all at a time")});
  }
  guests_.emplace(++last_,
                  Guest{OpenSocket(fd), address, network, endpoint, now + limits_.patience});
  by_network_[network].insert(last_);
  by_endpoint_[endpoint] = last_;
  return left;
}

std::optional<OpenSocket> GuestBook::Find(absl::string_view grpc_peer) const {
  const std::string endpoint = EndpointOfPeer(grpc_peer);
  const std::lock_guard lock(mutex_);
  const auto found = by_endpoint_.find(endpoint);
  if (found == by_endpoint_.end()) return std::nullopt;
  return guests_.find(found->second)->second.socket;
}

void GuestBook::Vouch(absl::string_view grpc_peer) { Left(EndpointOfPeer(grpc_peer)); }

void GuestBook::Left(const std::string& endpoint) {
  const std::lock_guard lock(mutex_);
  const auto found = by_endpoint_.find(endpoint);
  if (found != by_endpoint_.end()) Erase(guests_.find(found->second));
}

std::vector<GuestBook::Leave> GuestBook::EndOverdue(MonoTime now) {
  const std::lock_guard lock(mutex_);
  std::vector<Leave> left;
  while (!guests_.empty() && guests_.begin()->second.deadline <= now) {
    const std::string address = guests_.begin()->second.address;
    if (!End(guests_.begin())) continue;
    left.push_back({address, absl::StrCat("a connection on which nobody has shown a member's "
                                          "certificate for ",
                                          absl::FormatDuration(limits_.patience))});
  }
  return left;
}

MonoTime GuestBook::NextDeadline() const {
  const std::lock_guard lock(mutex_);
  return guests_.empty() ? MonoTime::Infinite() : guests_.begin()->second.deadline;
}

bool GuestBook::End(Guests::iterator guest) {
  const bool was_open = guest->second.socket.ShutDown();
  Erase(guest);
  return was_open;
}

void GuestBook::Erase(Guests::iterator guest) {
  const auto of_network = by_network_.find(guest->second.network);
  of_network->second.erase(guest->first);
  if (of_network->second.empty()) by_network_.erase(of_network);
  by_endpoint_.erase(guest->second.endpoint);
  guests_.erase(guest);
}

void GuestBook::EraseClosed(MonoTime now) {
  if (now < next_look_) return;
  next_look_ = now + kLookInterval;
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    const auto next = std::next(guest);
    if (!guest->second.socket.IsOpen()) Erase(guest);
    guest = next;
  }
}

}  // namespace hpc::coordinator
