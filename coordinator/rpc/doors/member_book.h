// The member book holds the connections over TCP that belong to known members, and limits how many
// one member may have.
#ifndef HPC_COORDINATOR_RPC_DOORS_MEMBER_BOOK_H_
#define HPC_COORDINATOR_RPC_DOORS_MEMBER_BOOK_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "coordinator/rpc/doors/descriptors.h"
#include "coordinator/rpc/doors/open_socket.h"

namespace hpc::coordinator {

// Set so that it takes many members to use up the descriptors for TCP.
int ConnectionsPerMember(const DescriptorPlan& plan);

class MemberBook {
 public:
  explicit MemberBook(int per_member) : per_member_(static_cast<size_t>(per_member)) {}

  // Adds a connection of `member` ("user anna", "worker pc1"). ResourceExhausted: the member has as
  // many connections as one may have.
  absl::Status Enter(const std::string& member, const OpenSocket& connection);

 private:
  const size_t per_member_;
  // Closed connections stay here until there seem to be too many.
  absl::flat_hash_map<std::string, std::vector<OpenSocket>> open_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_MEMBER_BOOK_H_
