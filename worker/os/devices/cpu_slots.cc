#include "worker/os/devices/cpu_slots.h"

#include <utility>

namespace hpc::worker {

CpuSlots::CpuSlots(int slots, std::string model, std::string gpu_trouble)
    : gpu_trouble_(std::move(gpu_trouble)) {
  if (model.empty()) model = "CPU";
  for (int i = 0; i < slots; ++i) {
    devices_.push_back({.index = i, .kind = protocol::DeviceKind::kCpuSlot, .name = model});
  }
}

}  // namespace hpc::worker
