// Rows of nodes and of their devices and interfaces.
#include "coordinator/store/row_columns.h"
#include "coordinator/store/rows.h"

namespace hpc::coordinator {

constexpr Table kNodes = {
    "nodes", "name",
    "address, power, reason, reclaimed, reclaimed_until, reclaim_reason, boot_id, "
    "first_seen, last_seen, hostname, os, kernel, driver, worker_version, cores, "
    "memory_bytes, can_wake_by_hook, devices, disks, interfaces, owners, revoked, forgotten, "
    "gpu_trouble, sleep_trouble"};

void Bind(const NodeRecord& node, Statement& to) {
  const protocol::Inventory& inventory = node.inventory;
  to.Text(node.name)
      .Text(node.address)
      .Text(ToWord(node.power))
      .Text(node.reason)
      .Int(node.reclaimed)
      .Time(node.reclaimed_until)
      .Text(node.reclaim_reason)
      .Text(node.boot_id)
      .Time(node.first_seen)
      .Time(node.last_seen)
      .Text(inventory.hostname)
      .Text(inventory.os)
      .Text(inventory.kernel)
      .Text(inventory.driver)
      .Text(inventory.worker_version)
      .Int(inventory.cores)
      .Int(inventory.memory_bytes)
      .Int(inventory.can_wake_by_hook)
      .Text(ToJson(inventory.devices))
      .Text(ToJson(inventory.disks))
      .Text(ToJson(inventory.interfaces))
      .Text(ToJson(inventory.owners))
      .Text(node.revoked)
      .Int(node.forgotten)
      .Text(inventory.gpu_trouble)
      .Text(inventory.sleep_trouble);
}

NodeRecord ReadNode(Row& row) {
  NodeRecord node;
  protocol::Inventory& inventory = node.inventory;
  node.name = row.Text();
  node.address = row.Text();
  node.power = ReadWord<Power>(row);
  node.reason = row.Text();
  node.reclaimed = row.Bool();
  node.reclaimed_until = row.Time(absl::InfiniteFuture());
  node.reclaim_reason = row.Text();
  node.boot_id = row.Text();
  node.first_seen = row.Time(absl::UnixEpoch());
  node.last_seen = row.Time(absl::UnixEpoch());
  inventory.hostname = row.Text();
  inventory.os = row.Text();
  inventory.kernel = row.Text();
  inventory.driver = row.Text();
  inventory.worker_version = row.Text();
  inventory.cores = row.Int32();
  inventory.memory_bytes = row.Int();
  inventory.can_wake_by_hook = row.Bool();
  inventory.devices = ReadJson(row, DevicesFromJson);
  inventory.disks = ReadJson(row, DisksFromJson);
  inventory.interfaces = ReadJson(row, InterfacesFromJson);
  inventory.owners = ReadTexts(row);
  node.revoked = row.Text();
  node.forgotten = row.Bool();
  inventory.gpu_trouble = row.Text();
  inventory.sleep_trouble = row.Text();
  return node;
}

}  // namespace hpc::coordinator
