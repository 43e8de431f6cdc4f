#include "worker/os/inventory.h"

#include <algorithm>

namespace hpc::worker {

Inventory ReadInventory(HostProbe* host, DeviceProbe* devices, const AsTold& told) {
  return {devices->Devices(), host->Read(), devices->DriverVersion(), told};
}

bool SameOffer(const Inventory& a, const Inventory& b) {
  return a.devices == b.devices && a.driver == b.driver && a.host.cores == b.host.cores &&
         a.host.memory_bytes == b.host.memory_bytes && a.host.interfaces == b.host.interfaces &&
         a.host.hostname == b.host.hostname &&
         std::equal(a.host.disks.begin(), a.host.disks.end(), b.host.disks.begin(),
                    b.host.disks.end(), [](const Disk& x, const Disk& y) {
                      return x.mount == y.mount && x.total_bytes == y.total_bytes;
                    });
}

bool HasGpus(const Inventory& inventory) {
  return std::any_of(inventory.devices.begin(), inventory.devices.end(),
                     [](const Device& device) { return device.kind == DeviceKind::kGpu; });
}

}  // namespace hpc::worker
