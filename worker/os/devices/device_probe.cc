#include "worker/os/devices/device_probe.h"

#include <string>
#include <utility>

#include "common/process/log.h"
#include "worker/os/devices/cpu_slots.h"
#include "worker/os/devices/nvml_probe.h"
#include "worker/os/host_probe.h"

namespace hpc::worker {

std::unique_ptr<DeviceProbe> MakeDeviceProbe(int cpu_slots) {
  auto nvml = NvmlProbe::Open({.library = NvmlApi::LibraryName()});
  if (nvml.ok() && !(*nvml)->Devices().empty()) return *std::move(nvml);
  const std::string why = nvml.ok() ? "NVML lists none" : std::string(nvml.status().message());
  // Most PCs without the library have no GPU. A PC that has the library is meant to have one, so
  // there an error is worth a warning.
  Log(absl::IsNotFound(nvml.status()) ? LogLevel::kInfo : LogLevel::kWarning,
      "no GPU, offering CPU slots", {{"slots", cpu_slots}, {"reason", why}});
  return std::make_unique<CpuSlots>(cpu_slots, ProcessorName());
}

}  // namespace hpc::worker
