// Wakes PCs with magic packets: UDP datagrams to port 9, which a network card understands while its
// PC is off.
#ifndef HPC_COORDINATOR_RUNTIME_WAKE_ON_LAN_H_
#define HPC_COORDINATOR_RUNTIME_WAKE_ON_LAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/runtime/engine.h"
#include "protocol/inventory.h"

namespace hpc::coordinator {

// The packet is 6 bytes of 0xff and then the address 16 times. InvalidArgument: `mac` is not
// "aa:bb:cc:dd:ee:ff" ('-' is as good as ':'), or is all zero.
absl::StatusOr<std::string> MagicPacket(absl::string_view mac);

// Where the packet for one interface goes: to the broadcast address of its subnet, if known, and to
// 255.255.255.255 in case the subnet has changed since.
std::vector<std::string> WakeAddresses(const protocol::NetworkInterface& interface);

class WakeOnLan final : public WakeSender {
 public:
  explicit WakeOnLan(uint16_t port = 9) : port_(port) {}

  // FailedPrecondition: the node has no interface with a hardware address. OK if at least one
  // packet was sent, otherwise the error of the last one.
  absl::Status Wake(const WakeNode& wake) override;

 private:
  uint16_t port_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_WAKE_ON_LAN_H_
