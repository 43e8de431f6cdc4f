// Who is at the other end of each connection of the Unix socket. Thread-safe.
//
// gRPC names such a connection by its descriptor ("fd:17") and nothing else. A descriptor is used
// again only after all others of the book's range, so that a call which is still on its way when
// its connection has ended is never taken for the next one's.
#ifndef HPC_COORDINATOR_RPC_DOORS_PEER_BOOK_H_
#define HPC_COORDINATOR_RPC_DOORS_PEER_BOOK_H_

#include <sys/types.h>

#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"
#include "coordinator/rpc/doors/descriptors.h"
#include "coordinator/rpc/doors/open_socket.h"

namespace hpc::coordinator {

struct PeerCredentials {
  uid_t uid = 0;
  std::string account;  // "uid 1234" where it has no name
  // Those that it was made a member of: not its own, primary one. The account hpc of the ranks has
  // a group of its name, as admins do, and is not an admin by that.
  std::vector<gid_t> groups;
};

// How many connections there may be at a time.
struct PeerLimits {
  int first = 0, last = 0;  // the book's range of descriptors: [first, last)
  int per_account = 0;      // but for:
  std::set<uid_t> without_limit;
  int all_accounts = 0;  // the rest of the range is for those without a limit
};

// Root and the account that the coordinator itself has are without a limit.
PeerLimits PeerLimitsOf(const DescriptorPlan& plan);

class PeerBook {
 public:
  explicit PeerBook(const PeerLimits& limits = PeerLimitsOf(PlanDescriptors(DescriptorLimit())))
      : limits_(limits), next_(limits.first) {}

  // Notes who has connected at `connection`, and gives it a descriptor of the book's range.
  // Internal: the kernel does not tell. ResourceExhausted names the account: it has as many
  // connections as one may have, or no room is left.
  absl::StatusOr<UniqueFd> Enter(UniqueFd connection);

  // Of gRPC's name for a connection; nullopt if it is none of the book's.
  std::optional<PeerCredentials> Find(absl::string_view grpc_peer) const;

 private:
  struct Peer {
    PeerCredentials credentials;
    OpenSocket connection;
  };

  absl::Status CheckRoom(const PeerCredentials& who);
  absl::StatusOr<UniqueFd> MoveIntoRange(UniqueFd connection);
  UniqueFd MoveTo(int first, const UniqueFd& connection) const;
  // Takes those of `uid` that have been closed out of open_.
  void DropClosed(uid_t uid);
  // How many of open_ belong to accounts that have a limit.
  size_t Limited() const;

  const PeerLimits limits_;
  int next_;
  mutable std::mutex mutex_;
  // By descriptor; also those that have been closed, until their number is used again.
  absl::flat_hash_map<int, Peer> peers_;
  // By account; some may have been closed since it was looked last.
  absl::flat_hash_map<uid_t, std::set<int>> open_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_PEER_BOOK_H_
