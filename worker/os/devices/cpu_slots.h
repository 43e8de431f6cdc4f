// The devices of a node without a GPU: a fixed number of slots, each for one rank.
#ifndef HPC_WORKER_OS_DEVICES_CPU_SLOTS_H_
#define HPC_WORKER_OS_DEVICES_CPU_SLOTS_H_

#include <string>
#include <vector>

#include "protocol/inventory.h"
#include "worker/os/seams.h"

namespace hpc::worker {

class CpuSlots : public DeviceProbe {
 public:
  // `model` is the name that the processor gives itself; "" is shown as "CPU".
  // `gpu_trouble`: see DeviceProbe::GpuTrouble.
  CpuSlots(int slots, std::string model, std::string gpu_trouble = "");

  std::vector<protocol::Device> Devices() override { return devices_; }
  // Empty: a slot is a share of a processor, and nobody measures which share is used.
  std::vector<DeviceUsage> Usage() override { return {}; }
  std::string DriverVersion() override { return ""; }
  std::string GpuTrouble() override { return gpu_trouble_; }

 private:
  std::vector<protocol::Device> devices_;
  const std::string gpu_trouble_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_DEVICES_CPU_SLOTS_H_
