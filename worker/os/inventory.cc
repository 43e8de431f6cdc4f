#include "worker/os/inventory.h"

#include <algorithm>

#include "common/version.h"

namespace hpc::worker {

protocol::Inventory ReadInventory(HostProbe* host, DeviceProbe* devices, const AsTold& told) {
  protocol::Inventory inventory = host->Read();
  inventory.devices = devices->Devices();
  inventory.driver = devices->DriverVersion();
  inventory.gpu_trouble = devices->GpuTrouble();
  inventory.worker_version = Version();
  inventory.can_wake_by_hook = told.can_wake_by_hook;
  inventory.sleep_trouble = told.sleep_trouble;
  inventory.owners = told.owners;
  return inventory;
}

bool SameOffer(const protocol::Inventory& a, const protocol::Inventory& b) {
  return a.devices == b.devices && a.driver == b.driver && a.cores == b.cores &&
         a.memory_bytes == b.memory_bytes && a.interfaces == b.interfaces &&
         a.hostname == b.hostname &&
         std::equal(a.disks.begin(), a.disks.end(), b.disks.begin(), b.disks.end(),
                    [](const protocol::Disk& x, const protocol::Disk& y) {
                      return x.mount == y.mount && x.total_bytes == y.total_bytes;
                    });
}

bool HasGpus(const protocol::Inventory& inventory) {
  return std::any_of(
      inventory.devices.begin(), inventory.devices.end(),
      [](const protocol::Device& device) { return device.kind == protocol::DeviceKind::kGpu; });
}

}  // namespace hpc::worker
