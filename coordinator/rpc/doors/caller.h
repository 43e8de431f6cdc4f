// Who is asking.
#ifndef HPC_COORDINATOR_RPC_DOORS_CALLER_H_
#define HPC_COORDINATOR_RPC_DOORS_CALLER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/trust/permissions.h"

namespace hpc::coordinator {

struct Caller {
  Standing standing = Standing::kNobody;
  std::string user;    // a person's or a node's name; "" for kNobody and kAnyone
  std::string peer;    // in words, for events: "a local user", "10.0.0.7"
  std::string serial;  // of the certificate; "" without one
  absl::Time expires_at = absl::InfiniteFuture();  // of the certificate
  bool own_only = false;  // this call may only touch what belongs to the caller
};

// For events: the user, or where the call came from.
std::string WhoIs(const Caller& caller);

// "ipv4:10.0.0.7:5012", "ipv6:%5B::1%5D:5012" -> the address.
std::string DescribePeer(absl::string_view grpc_peer);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_CALLER_H_
