// What this PC offers, as the coordinator is told.
#ifndef HPC_WORKER_OS_INVENTORY_H_
#define HPC_WORKER_OS_INVENTORY_H_

#include <string>
#include <vector>

#include "protocol/inventory.h"
#include "worker/os/seams.h"

namespace hpc::worker {

// What cannot be measured; the worker is told it when it starts.
struct AsTold {
  bool can_wake_by_hook = false;
  std::vector<std::string> owners;  // users who may reclaim and lend the PC
  std::string sleep_trouble;        // why the PC cannot be put to sleep; "": nothing is known
};

// Asks the drivers, which may take a moment.
protocol::Inventory ReadInventory(HostProbe* host, DeviceProbe* devices, const AsTold& told);

// Whether the coordinator would decide the same for both. Free disk space changes all the time and
// is not worth a message by itself.
bool SameOffer(const protocol::Inventory& a, const protocol::Inventory& b);

bool HasGpus(const protocol::Inventory& inventory);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_INVENTORY_H_
