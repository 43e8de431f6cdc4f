// What this PC has to offer, as the coordinator is told.
#ifndef HPC_WORKER_RUNTIME_INVENTORY_H_
#define HPC_WORKER_RUNTIME_INVENTORY_H_

#include <string>
#include <vector>

#include "worker/os/seams.h"

namespace hpc::worker {

struct Inventory {
  std::vector<Device> devices;
  HostInfo host;
  std::string driver;
  bool can_wake_by_hook = false;
};

// Asks the drivers: may take a moment.
Inventory ReadInventory(HostProbe* host, DeviceProbe* devices, bool can_wake_by_hook);

// Whether the coordinator would decide differently. Free disk space changes all the time and is not
// worth a message by itself.
bool SameOffer(const Inventory& a, const Inventory& b);

bool HasGpus(const Inventory& inventory);

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_INVENTORY_H_
