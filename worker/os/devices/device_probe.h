// Finds out which devices this node offers.
#ifndef HPC_WORKER_OS_DEVICES_DEVICE_PROBE_H_
#define HPC_WORKER_OS_DEVICES_DEVICE_PROBE_H_

#include <memory>

#include "worker/os/seams.h"

namespace hpc::worker {

// The node's NVIDIA GPUs. If there are none, it is `cpu_slots` CPU slots, and the log says why,
// once.
std::unique_ptr<DeviceProbe> MakeDeviceProbe(int cpu_slots);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_DEVICES_DEVICE_PROBE_H_
