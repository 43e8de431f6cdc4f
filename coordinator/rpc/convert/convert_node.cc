#include "coordinator/rpc/convert/convert_node.h"

#include <string>

#include "coordinator/rpc/convert/convert_common.h"

namespace hpc::coordinator {
namespace {

constexpr size_t kMaxWords = 500;

std::string Words(const std::string& text) { return CleanText(text, kMaxWords); }

protocol::Device FromProto(const v1::Device& device) {
  protocol::Device out;
  out.index = device.index();
  out.kind = device.kind() == v1::DEVICE_KIND_GPU ? protocol::DeviceKind::kGpu
                                                  : protocol::DeviceKind::kCpuSlot;
  out.uuid = Words(device.uuid());
  out.name = Words(device.name());
  out.memory_bytes = device.memory_bytes();
  out.pci_bus_id = Words(device.pci_bus_id());
  return out;
}

v1::Device ToProto(const protocol::Device& device) {
  v1::Device out;
  out.set_index(device.index);
  out.set_kind(static_cast<v1::DeviceKind>(device.kind));
  out.set_uuid(device.uuid);
  out.set_name(device.name);
  out.set_memory_bytes(device.memory_bytes);
  out.set_pci_bus_id(device.pci_bus_id);
  return out;
}

protocol::NetworkInterface FromProto(const v1::NetworkInterface& interface) {
  protocol::NetworkInterface out;
  out.name = Words(interface.name());
  out.address = Words(interface.address());
  out.mac = Words(interface.mac());
  out.speed_mbps = interface.speed_mbps();
  out.broadcast = Words(interface.broadcast());
  if (interface.wake_on_lan() == v1::NetworkInterface::WAKE_ON_LAN_OFF) {
    out.wake_on_lan = protocol::WakeOnLan::kOff;
  } else if (interface.wake_on_lan() == v1::NetworkInterface::WAKE_ON_LAN_ON) {
    out.wake_on_lan = protocol::WakeOnLan::kOn;
  }
  return out;
}

v1::NetworkInterface ToProto(const protocol::NetworkInterface& interface) {
  v1::NetworkInterface out;
  out.set_name(interface.name);
  out.set_address(interface.address);
  out.set_mac(interface.mac);
  out.set_speed_mbps(interface.speed_mbps);
  out.set_broadcast(interface.broadcast);
  out.set_wake_on_lan(static_cast<v1::NetworkInterface::WakeOnLan>(interface.wake_on_lan));
  return out;
}

}  // namespace

protocol::Inventory FromProto(const v1::Inventory& inventory) {
  protocol::Inventory out;
  for (const v1::Device& device : inventory.devices()) out.devices.push_back(FromProto(device));
  out.cores = inventory.cores();
  out.memory_bytes = inventory.memory_bytes();
  for (const v1::Disk& disk : inventory.disks()) {
    out.disks.push_back({Words(disk.mount()), disk.total_bytes(), disk.free_bytes()});
  }
  for (const v1::NetworkInterface& i : inventory.interfaces()) {
    out.interfaces.push_back(FromProto(i));
  }
  out.hostname = Words(inventory.hostname());
  out.os = Words(inventory.os());
  out.kernel = Words(inventory.kernel());
  out.driver = Words(inventory.driver());
  out.gpu_trouble = Words(inventory.gpu_trouble());
  out.sleep_trouble = Words(inventory.sleep_trouble());
  out.worker_version = Words(inventory.worker_version());
  out.can_wake_by_hook = inventory.can_wake_by_hook();
  for (const std::string& owner : inventory.owners()) out.owners.push_back(Words(owner));
  return out;
}

v1::Inventory ToProto(const protocol::Inventory& inventory) {
  v1::Inventory out;
  for (const protocol::Device& device : inventory.devices) *out.add_devices() = ToProto(device);
  out.set_cores(inventory.cores);
  out.set_memory_bytes(inventory.memory_bytes);
  for (const protocol::Disk& disk : inventory.disks) {
    v1::Disk* d = out.add_disks();
    d->set_mount(disk.mount);
    d->set_total_bytes(disk.total_bytes);
    d->set_free_bytes(disk.free_bytes);
  }
  for (const protocol::NetworkInterface& i : inventory.interfaces)
    *out.add_interfaces() = ToProto(i);
  out.set_hostname(inventory.hostname);
  out.set_os(inventory.os);
  out.set_kernel(inventory.kernel);
  out.set_driver(inventory.driver);
  out.set_gpu_trouble(inventory.gpu_trouble);
  out.set_sleep_trouble(inventory.sleep_trouble);
  out.set_worker_version(inventory.worker_version);
  out.set_can_wake_by_hook(inventory.can_wake_by_hook);
  for (const std::string& owner : inventory.owners) out.add_owners(owner);
  return out;
}

v1::Node ToProto(const Cluster::NodeView& node) {
  v1::Node out;
  const NodeRecord& record = node.record;
  out.set_name(record.name);
  out.set_state(node.state);
  out.set_reason(node.reason);
  out.set_address(record.address);
  *out.mutable_inventory() = ToProto(record.inventory);
  out.set_reclaimed(record.reclaimed);
  if (record.reclaimed) out.set_reclaimed_until_us(ToMicros(record.reclaimed_until));
  for (const AttemptRef& ref : node.attempts) out.add_attempts(ref.ToString());
  for (const int32_t device : node.free_devices) out.add_free_devices(device);
  out.set_first_seen_us(ToMicros(record.first_seen));
  out.set_last_seen_us(ToMicros(record.last_seen));
  return out;
}

v1::Event ToProto(const EventRecord& event) {
  v1::Event out;
  out.set_id(event.id);
  out.set_at_us(ToMicros(event.at));
  out.set_severity(static_cast<v1::Severity>(event.severity));
  out.set_kind(event.kind);
  out.set_run(event.run);
  out.set_attempt(event.attempt);
  out.set_node(event.node);
  if (event.rank >= 0) out.set_rank(event.rank);
  out.set_text(event.text);
  return out;
}

}  // namespace hpc::coordinator
