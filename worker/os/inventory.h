// What this PC offers, as the coordinator is told.
#ifndef HPC_WORKER_OS_INVENTORY_H_
#define HPC_WORKER_OS_INVENTORY_H_

#include <string>
#include <vector>

#include "worker/os/seams.h"

namespace hpc::worker {

// What cannot be measured; the worker is told it when it starts.
struct AsTold {
  bool can_wake_by_hook = false;
  std::vector<std::string> owners;  // users who may reclaim and lend the PC
};

struct Inventory {
  std::vector<Device> devices;
  HostInfo host;
  std::string driver;
  AsTold told;
};

// Asks the drivers, which may take a moment.
Inventory ReadInventory(HostProbe* host, DeviceProbe* devices, const AsTold& told);

// Whether the coordinator would decide the same for both. Free disk space changes all the time and
// is not worth a message by itself.
bool SameOffer(const Inventory& a, const Inventory& b);

bool HasGpus(const Inventory& inventory);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_INVENTORY_H_
