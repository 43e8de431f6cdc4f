// Who is at the other end of each connection of the Unix socket. Thread-safe.
//
// gRPC names such a connection by its descriptor ("fd:17") and nothing else. A descriptor is used
// again only after all others of the book's range, so that a call which is still on its way when
// its connection has ended is never taken for the next one's.
#ifndef HPC_COORDINATOR_RPC_PEER_BOOK_H_
#define HPC_COORDINATOR_RPC_PEER_BOOK_H_

#include <sys/types.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace hpc::coordinator {

struct PeerCredentials {
  uid_t uid = 0;
  std::string account;  // "uid 1234" where it has no name
  // Those that it was made a member of: not its own, primary one. The account hpc of the ranks has
  // a group of its name, as admins do, and is not an admin by that.
  std::vector<gid_t> groups;
};

class PeerBook {
 public:
  PeerBook();

  // Notes who has connected at `connection`, and gives it a descriptor of the book's range.
  // Internal: the kernel does not tell. ResourceExhausted: no descriptors are left.
  absl::StatusOr<UniqueFd> Enter(UniqueFd connection);

  // Of gRPC's name for a connection; nullopt if it is none of the book's.
  std::optional<PeerCredentials> Find(absl::string_view grpc_peer) const;

 private:
  absl::StatusOr<UniqueFd> MoveIntoRange(UniqueFd connection);

  const int first_;
  const int last_;
  int next_;
  mutable std::mutex mutex_;
  absl::flat_hash_map<int, PeerCredentials> peers_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_PEER_BOOK_H_
