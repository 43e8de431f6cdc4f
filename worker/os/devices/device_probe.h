// Which devices this node offers.
#ifndef HPC_WORKER_OS_DEVICES_DEVICE_PROBE_H_
#define HPC_WORKER_OS_DEVICES_DEVICE_PROBE_H_

#include <memory>

#include "worker/os/seams.h"

namespace hpc::worker {

// The node's NVIDIA GPUs; where there is none (the log says why, once), `cpu_slots` CPU slots.
std::unique_ptr<DeviceProbe> MakeDeviceProbe(int cpu_slots);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_DEVICES_DEVICE_PROBE_H_
