#include "worker/os/devices/nvml_probe.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/os/devices/side_thread.h"

namespace hpc::worker {
struct FoundDevice {
  nvmlDevice_t handle = nullptr;
  nvmlPciInfo_t pci = {};
  protocol::Device device;
};

namespace {

using SteadyClock = std::chrono::steady_clock;

absl::StatusOr<FoundDevice> Identify(const NvmlApi& api, unsigned nvml_index) {
  FoundDevice found;
  HPC_ASSIGN_OR_RETURN(found.handle, api.DeviceByIndex(nvml_index));
  HPC_ASSIGN_OR_RETURN(found.pci, api.PciInfo(found.handle));
  HPC_ASSIGN_OR_RETURN(found.device.uuid, api.Uuid(found.handle));
  found.device.kind = protocol::DeviceKind::kGpu;
  found.device.name = api.Name(found.handle).value_or("NVIDIA GPU");
  // A GPU that shares the processor's memory has no memory of its own to report.
  found.device.memory_bytes =
      static_cast<int64_t>(api.Memory(found.handle).value_or(nvmlMemory_t{}).total);
  found.device.pci_bus_id = found.pci.busId;
  return found;
}

bool InPciOrder(const FoundDevice& a, const FoundDevice& b) {
  return std::tie(a.pci.domain, a.pci.bus, a.pci.device) <
         std::tie(b.pci.domain, b.pci.bus, b.pci.device);
}

}  // namespace

struct NvmlProbe::Found {
  std::vector<FoundDevice> devices;
  std::string driver_version;
};

NvmlProbe::Found NvmlProbe::FindAll(const NvmlApi& api) {
  Found found;
  found.driver_version = api.DriverVersion().value_or("");
  const unsigned count = api.DeviceCount().value_or(0);
  for (unsigned i = 0; i < count; ++i) {
    absl::StatusOr<FoundDevice> device = Identify(api, i);
    if (device.ok()) {
      found.devices.push_back(*std::move(device));
    } else {
      LogWarning("GPU left out", {{"nvml_index", i}, {"error", device.status().message()}});
    }
  }
  std::sort(found.devices.begin(), found.devices.end(), InPciOrder);
  int32_t index = 0;
  for (FoundDevice& device : found.devices) device.device.index = index++;
  return found;
}

absl::StatusOr<std::unique_ptr<NvmlProbe>> NvmlProbe::Open(const NvmlProbeOptions& options) {
  struct Start {
    absl::StatusOr<std::shared_ptr<NvmlApi>> api;
    Found found;
  };
  auto start = std::make_shared<Start>();
  SideThread thread;
  thread.Start([start, library = options.library] {
    start->api = NvmlApi::Load(library);
    if (start->api.ok()) start->found = FindAll(**start->api);
  });
  if (!thread.WaitUntil(SteadyClock::now() + absl::ToChronoNanoseconds(options.start_limit))) {
    return absl::DeadlineExceededError(
        absl::StrCat("the driver did not answer within ", HumanDuration(options.start_limit)));
  }
  HPC_RETURN_IF_ERROR(start->api.status());
  return std::unique_ptr<NvmlProbe>(
      new NvmlProbe(options, *std::move(start->api), std::move(start->found)));
}

NvmlProbe::NvmlProbe(const NvmlProbeOptions& options, std::shared_ptr<NvmlApi> api, Found found)
    : options_(options), driver_version_(std::move(found.driver_version)) {
  for (const FoundDevice& one : found.devices) {
    devices_.push_back(one.device);
    readers_.push_back(std::make_unique<GpuReader>(api, one.handle, one.device, options.root));
  }
}

std::vector<DeviceUsage> NvmlProbe::Usage() {
  for (auto& reader : readers_) reader->Start();
  const auto deadline = SteadyClock::now() + absl::ToChronoNanoseconds(options_.usage_limit);
  std::vector<DeviceUsage> usage;
  for (auto& reader : readers_) usage.push_back(reader->Finish(deadline));
  return usage;
}

}  // namespace hpc::worker
