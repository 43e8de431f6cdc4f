// Finds out which devices this node offers.
#ifndef HPC_WORKER_OS_DEVICES_DEVICE_PROBE_H_
#define HPC_WORKER_OS_DEVICES_DEVICE_PROBE_H_

#include <memory>
#include <string>

#include "worker/os/seams.h"

namespace hpc::worker {

// Whether the kernel lists an NVIDIA GPU among the PCI devices under `root`.
bool ListsNvidiaGpu(const std::string& root);

// For root's worker, before it makes a probe: makes the device nodes of NVIDIA's driver that are
// missing after a boot without a desktop. Otherwise the first CUDA program would do so, by a setuid
// program, which is of no use to ranks. Does nothing on a PC without such a GPU.
void MakeGpuNodes();

// The node's NVIDIA GPUs. If there are none, it is `cpu_slots` CPU slots, and the log says why,
// once. Where NVIDIA's library is installed and does not answer, that is GpuTrouble: for example
// after an upgrade of the driver until the next boot.
std::unique_ptr<DeviceProbe> MakeDeviceProbe(int cpu_slots);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_DEVICES_DEVICE_PROBE_H_
