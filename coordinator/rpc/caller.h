// Who is asking.
#ifndef HPC_COORDINATOR_RPC_CALLER_H_
#define HPC_COORDINATOR_RPC_CALLER_H_

#include <grpcpp/server_context.h>

#include <string>

namespace hpc::coordinator {

struct Caller {
  std::string user;  // "" until connections carry identities
  std::string peer;  // in words, for events: "a local user", "10.0.0.7"
};

// For events: the user, or where the call came from.
std::string WhoIs(const Caller& caller);

Caller CallerOf(const grpc::ServerContext& context);

// "unix:..." -> "a local user"; "ipv4:10.0.0.7:5012", "ipv6:%5B::1%5D:5012" -> the address.
std::string DescribePeer(const std::string& grpc_peer);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLER_H_
