// The network interfaces of this machine and the routes that leave through them.
#ifndef HPC_WORKER_OS_NETWORK_H_
#define HPC_WORKER_OS_NETWORK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protocol/inventory.h"
#include "worker/os/seams.h"

namespace hpc::worker {

// One address of one interface, as the kernel lists it.
struct InterfaceAddress {
  enum class Family { kLink, kIpv4, kIpv6 };
  std::string interface;
  Family family = Family::kLink;
  bool up = false;
  bool loopback = false;
  std::string address;    // IP literal; for kLink the MAC, "" if it has none
  int prefix_length = 0;  // 0 for kLink
  std::string broadcast;  // only for kIpv4; "" if the interface has none
};

// The list that getifaddrs gives, in the kernel's order. Empty if it fails.
std::vector<InterfaceAddress> ListInterfaceAddresses();

// Pure. Selects the interfaces that are up and have an address that others can use: the first IPv4
// address, or else the first IPv6 address that is not link-local. The loopback is selected only if
// there is no other interface. speed_mbps is left 0.
std::vector<protocol::NetworkInterface> SelectInterfaces(
    const std::vector<InterfaceAddress>& addresses);

// Pure. Returns the interface that holds `address`. On a loopback interface the machine answers to
// its whole subnet (127.0.0.9), so there the subnet counts. NotFound: no interface holds it.
absl::StatusOr<std::string> FindInterfaceOf(const std::vector<InterfaceAddress>& addresses,
                                            const std::string& address);

// Pure. InvalidArgument: `address` does not belong to this machine; the error lists the addresses
// that do.
absl::Status CheckOwnAddress(const std::vector<InterfaceAddress>& addresses,
                             const std::string& address);

// The speed in /sys/class/net/<name>/speed under `root`; 0 if it is unknown (Wi-Fi, virtual
// interfaces).
int64_t ReadInterfaceSpeed(const std::string& root, const std::string& name);

// Whether the card wakes the PC when a Wake-on-LAN packet comes, as it is set now. A card that
// knows nothing of it is off. Unknown for what is no card, such as a bridge, and where we are not
// root.
protocol::WakeOnLan ReadWakeOnLan(const std::string& name);

// The address of this machine that traffic to `peer` leaves from. Asks only the routing table; no
// packet is sent. InvalidArgument: `peer` is not an IP literal. Unavailable: there is no route.
absl::StatusOr<std::string> FindSourceAddress(const std::string& peer);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_NETWORK_H_
