// The other end of a connection over TCP, in one spelling, wherever the name comes from.
#ifndef HPC_COORDINATOR_RPC_DOORS_REMOTE_ADDRESS_H_
#define HPC_COORDINATOR_RPC_DOORS_REMOTE_ADDRESS_H_

#include <sys/socket.h>

#include <string>

#include "absl/strings/string_view.h"

namespace hpc::coordinator {

// "10.0.0.7", "fe80::1"; "" for a Unix socket.
std::string AddressOf(const sockaddr_storage& peer);
// With the port: "10.0.0.7:5012", "fe80::1:5012".
std::string EndpointOf(const sockaddr_storage& peer);
// The same, from gRPC's name for it: "ipv4:10.0.0.7:5012", "ipv6:%5Bfe80::1%25eth0%5D:5012".
std::string EndpointOfPeer(absl::string_view grpc_peer);

// The part of an address that stands for one owner. An IPv4 address, and an address of this
// machine, stands for itself. For IPv6 it is the /64, which belongs to one subscriber or network as
// a whole: "2001:db8::/64".
std::string NetworkOf(const std::string& address);

// Also true for a Unix socket.
bool IsLoopback(absl::string_view address);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_DOORS_REMOTE_ADDRESS_H_
