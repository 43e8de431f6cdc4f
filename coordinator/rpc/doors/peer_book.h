// The peer book knows who is at the other end of each connection of the Unix socket. Thread-safe.
//
// gRPC names such a connection by its descriptor ("fd:17") and by nothing else. A descriptor is
// reused only after all others of the book's range. So a call that is still on its way when its
// connection has ended is never taken for a call of the next connection.
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
  std::string account;  // "uid 1234" if the account has no name
  // The groups that the account was made a member of, without its own primary group. The account
  // hpc of the ranks has a primary group of the same name, as admins do, and that does not make it
  // an admin.
  std::vector<gid_t> groups;
};

// How many connections there may be at a time.
struct PeerLimits {
  int first = 0, last = 0;  // the book's range of descriptors: [first, last)
  int per_account = 0;      // except for these accounts:
  std::set<uid_t> without_limit;
  int all_accounts = 0;  // the rest of the range is for accounts without a limit
};

// Root and the coordinator's own account are without a limit.
PeerLimits PeerLimitsOf(const DescriptorPlan& plan);

class PeerBook {
 public:
  explicit PeerBook(const PeerLimits& limits = PeerLimitsOf(PlanDescriptors(DescriptorLimit())))
      : limits_(limits), next_(limits.first) {}

  // Notes who has connected at `connection`, and moves it to a descriptor of the book's range.
  // Internal: the kernel does not tell who it is. ResourceExhausted: the account has as many
  // connections as one may have, or no room is left; the error names the account.
  absl::StatusOr<UniqueFd> Enter(UniqueFd connection);

  // Finds a connection by gRPC's name for it; nullopt if it is not in the book.
  std::optional<PeerCredentials> Find(absl::string_view grpc_peer) const;

 private:
  struct Peer {
    PeerCredentials credentials;
    OpenSocket connection;
  };

  absl::Status CheckRoom(const PeerCredentials& who);
  absl::StatusOr<UniqueFd> MoveIntoRange(UniqueFd connection);
  UniqueFd MoveTo(int first, const UniqueFd& connection) const;
  // Removes the closed connections of `uid` from open_.
  void DropClosed(uid_t uid);
  // How many connections in open_ belong to accounts that have a limit.
  size_t Limited() const;

  const PeerLimits limits_;
  int next_;
  mutable std::mutex mutex_;
  // By descriptor. Closed connections stay here until their number is used again.
  absl::flat_hash_map<int, Peer> peers_;
  // By account. Some connections may have been closed since the last check.
  absl::flat_hash_map<uid_t, std::set<int>> open_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_PEER_BOOK_H_
