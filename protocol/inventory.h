// What a node consists of, as its worker found it: Inventory in proto/hpc/v1/node.proto, without
// protobuf.
#ifndef HPC_PROTOCOL_INVENTORY_H_
#define HPC_PROTOCOL_INVENTORY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hpc::protocol {

enum class DeviceKind { kGpu = 1, kCpuSlot = 2 };

struct Device {
  int32_t index = 0;  // for GPUs in PCI bus order
  DeviceKind kind = DeviceKind::kCpuSlot;
  std::string uuid;
  std::string name;
  int64_t memory_bytes = 0;
  std::string pci_bus_id;

  bool operator==(const Device&) const = default;
};

// Whether a PC's network card wakes it when a Wake-on-LAN packet comes.
enum class WakeOnLan { kUnknown = 0, kOff = 1, kOn = 2 };

struct NetworkInterface {
  std::string name;
  std::string address;     // IP literal; "" when it has none
  std::string mac;         // "aa:bb:cc:dd:ee:ff"
  int64_t speed_mbps = 0;  // 0: unknown
  std::string broadcast;   // subnet broadcast address; "" when it has none
  WakeOnLan wake_on_lan = WakeOnLan::kUnknown;

  bool operator==(const NetworkInterface&) const = default;
};

struct Disk {
  std::string mount;
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;

  bool operator==(const Disk&) const = default;
};

struct Inventory {
  std::vector<Device> devices;
  int32_t cores = 0;
  int64_t memory_bytes = 0;
  std::vector<Disk> disks;
  std::vector<NetworkInterface> interfaces;  // up and with an address; loopback only if alone
  std::string hostname;
  std::string os;  // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;
  std::string driver;  // NVIDIA driver version; "" when none
  // Why the GPUs that the PC seems to have cannot be used, in words; "" when nothing is known to be
  // wrong. Its devices are CPU slots then.
  std::string gpu_trouble;
  std::string worker_version;
  bool can_wake_by_hook = false;
  std::string sleep_trouble;  // why it cannot be put to sleep, in words; "" when nothing is known
  std::vector<std::string> owners;  // users who may reclaim and lend it, says its worker

  bool operator==(const Inventory&) const = default;
};

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_INVENTORY_H_
