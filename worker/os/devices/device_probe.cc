#include "worker/os/devices/device_probe.h"

#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "common/files/files.h"
#include "common/process/log.h"
#include "worker/os/devices/cpu_slots.h"
#include "worker/os/devices/nvml_probe.h"
#include "worker/os/host_probe.h"
#include "worker/os/run_command.h"

namespace hpc::worker {

namespace {

constexpr char kNvidia[] = "0x10de";
constexpr char kDisplay[] = "0x03";  // the first byte of a PCI device's class

// Whether a PC on which NVML's start ended so is meant to have a GPU. The library alone does not
// show it: a container may have it, and a PC whose card was taken out.
bool IsTrouble(const absl::Status& nvml) {
  if (nvml.ok() || absl::IsFailedPrecondition(nvml)) return ListsNvidiaGpu("");
  return !absl::IsNotFound(nvml);
}

constexpr char kMakeNodes[] = "nvidia-modprobe -c 0 -u";
constexpr absl::Duration kMakeNodesLimit = absl::Seconds(10);

}  // namespace

void MakeGpuNodes() {
  if (access("/dev/nvidia-uvm", F_OK) == 0 || !ListsNvidiaGpu("")) return;
  const absl::StatusOr<CommandResult> made = RunCommand({.program = "/bin/sh",
                                                         .argv = {"sh", "-c", kMakeNodes},
                                                         .env = OwnEnvironment(),
                                                         .limit = kMakeNodesLimit});
  if (made.ok() && made->ok()) return;
  LogWarning("the device nodes of the GPUs could not be made",
             {{"command", kMakeNodes},
              {"error", made.ok() ? made->LastWords() : made.status().ToString()}});
}

bool ListsNvidiaGpu(const std::string& root) {
  std::error_code error;
  for (const auto& device :
       std::filesystem::directory_iterator(root + "/sys/bus/pci/devices", error)) {
    const std::string folder = device.path().string();
    if (absl::StartsWith(ReadFile(folder + "/vendor").value_or(""), kNvidia) &&
        absl::StartsWith(ReadFile(folder + "/class").value_or(""), kDisplay)) {
      return true;
    }
  }
  return false;
}

std::unique_ptr<DeviceProbe> MakeDeviceProbe(int cpu_slots) {
  auto nvml = NvmlProbe::Open({.library = NvmlApi::LibraryName()});
  if (nvml.ok() && !(*nvml)->Devices().empty()) return *std::move(nvml);
  const std::string why = nvml.ok() ? "NVML lists none" : std::string(nvml.status().message());
  // Most PCs without the library have no GPU. A PC that has the library is meant to have one, so
  // there an error is worth a warning.
  Log(absl::IsNotFound(nvml.status()) ? LogLevel::kInfo : LogLevel::kWarning,
      "no GPU, offering CPU slots", {{"slots", cpu_slots}, {"reason", why}});
  return std::make_unique<CpuSlots>(cpu_slots, ProcessorName(),
                                    IsTrouble(nvml.status()) ? why : "");
}

}  // namespace hpc::worker
