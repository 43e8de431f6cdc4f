// The guest book holds the connections over TCP that have not yet shown that they belong to a
// member. It limits how many there may be, and for how long. Thread-safe.
//
// Where there are too many, the one that came first has to go. A member shows what it is within
// milliseconds, so strangers who say nothing cannot take its place.
#ifndef HPC_COORDINATOR_RPC_DOORS_GUEST_BOOK_H_
#define HPC_COORDINATOR_RPC_DOORS_GUEST_BOOK_H_

#include <sys/socket.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/rpc/doors/descriptors.h"
#include "coordinator/rpc/doors/open_socket.h"

namespace hpc::coordinator {

struct GuestLimits {
  int total = 8192;
  int per_address = 256;  // or per /64 of IPv6 (NetworkOf)
  int loopback = 4096;    // all local accounts and their workers come from there
  absl::Duration patience = absl::Seconds(30);
};

// The limits leave at most half of the descriptors for TCP to guests.
GuestLimits GuestLimitsOf(const DescriptorPlan& plan);

class GuestBook {
 public:
  // A guest that was sent away, and why.
  struct Leave {
    std::string address;
    std::string reason;
  };

  explicit GuestBook(const GuestLimits& limits) : limits_(limits) {}

  // Adds a connection that was accepted from `peer`. Returns the guests that had to make room.
  std::vector<Leave> Enter(int fd, const sockaddr_storage& peer, MonoTime now);
  // Finds a guest by gRPC's name for it ("ipv4:10.0.0.7:5012"); nullopt if it is not a guest, or
  // not any more.
  std::optional<OpenSocket> Find(absl::string_view grpc_peer) const;
  // The connection belongs to a member, so it is no guest any more. Ignored if it is not in the
  // book.
  void Vouch(absl::string_view grpc_peer);
  // The acceptor is about to close the connection of this peer (EndpointOf).
  void Left(const std::string& endpoint);
  // Ends the guests whose time is over.
  std::vector<Leave> EndOverdue(MonoTime now);
  // When EndOverdue has something to do; Infinite if there are no guests.
  MonoTime NextDeadline() const;

 private:
  struct Guest {
    OpenSocket socket;
    std::string address;
    std::string network;
    std::string endpoint;
    MonoTime deadline;
  };
  using Guests = std::map<int64_t, Guest>;  // by number, in the order in which they came

  int LimitOf(const std::string& address) const;
  // Ends the connection. False if it had ended by itself.
  bool End(Guests::iterator guest);
  void Erase(Guests::iterator guest);
  void EraseClosed(MonoTime now);

  const GuestLimits limits_;
  mutable std::mutex mutex_;
  int64_t last_ = 0;
  Guests guests_;
  absl::flat_hash_map<std::string, std::set<int64_t>> by_network_;
  absl::flat_hash_map<std::string, int64_t> by_endpoint_;
  MonoTime next_look_{-absl::InfiniteDuration()};  // when to check again which of them are open
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_GUEST_BOOK_H_
