// The network interfaces of this machine and the routes that leave through them.
#ifndef HPC_WORKER_OS_NETWORK_H_
#define HPC_WORKER_OS_NETWORK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/os/seams.h"

namespace hpc::worker {

// One address of one interface, as the kernel lists it.
struct InterfaceAddress {
  enum class Family { kLink, kIpv4, kIpv6 };
  std::string interface;
  Family family = Family::kLink;
  bool up = false;
  bool loopback = false;
  std::string address;    // IP literal; of kLink the MAC, "" if it has none
  int prefix_length = 0;  // 0 for kLink
  std::string broadcast;  // kIpv4 only; "" if the interface has none
};

// What getifaddrs says, in the kernel's order. Empty if it says nothing.
std::vector<InterfaceAddress> ListInterfaceAddresses();

// Pure: the interfaces that are up and have an address that others can use (the first IPv4 one,
// else the first IPv6 one that is not link-local). The loopback only where there is no other.
// speed_mbps is left 0.
std::vector<NetworkInterface> SelectInterfaces(const std::vector<InterfaceAddress>& addresses);

// Pure: the interface that holds `address`. On a loopback interface the machine answers to its
// whole subnet (127.0.0.9), so there the subnet counts. NotFound: none does.
absl::StatusOr<std::string> FindInterfaceOf(const std::vector<InterfaceAddress>& addresses,
                                            const std::string& address);

// Pure. InvalidArgument, with the addresses that there are, if `address` is none of this machine's.
absl::Status CheckOwnAddress(const std::vector<InterfaceAddress>& addresses,
                             const std::string& address);

// The speed in /sys/class/net/<name>/speed under `root`; 0 if it is unknown (Wi-Fi, virtual ones).
int64_t ReadInterfaceSpeed(const std::string& root, const std::string& name);

// The address of this machine that traffic to `peer` leaves from; asks the routing table only, no
// packet is sent. InvalidArgument: not an IP literal. Unavailable: no route.
absl::StatusOr<std::string> FindSourceAddress(const std::string& peer);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_NETWORK_H_
