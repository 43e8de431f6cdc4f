#include "worker/os/devices/nvml_api.h"

#include <dlfcn.h>

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace hpc::worker {
namespace {

template <typename F>
bool Find(void* library, const char* symbol, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, symbol));
  return *function != nullptr;
}

}  // namespace

std::string NvmlApi::LibraryName() {
  const char* name = getenv("HPC_NVML_LIBRARY");
  return name != nullptr && *name != '\0' ? name : "libnvidia-ml.so.1";
}

absl::StatusOr<NvmlApi::Functions> NvmlApi::Resolve(void* library, const std::string& name) {
  Functions fn = {};
  const char* missing = nullptr;
  auto need = [&](const char* symbol, auto* function) {
    if (!Find(library, symbol, function)) missing = symbol;
  };
  need("nvmlInit_v2", &fn.init);
  need("nvmlShutdown", &fn.shutdown);
  need("nvmlErrorString", &fn.error_string);
  need("nvmlSystemGetDriverVersion", &fn.driver_version);
  need("nvmlDeviceGetCount_v2", &fn.device_count);
  need("nvmlDeviceGetHandleByIndex_v2", &fn.device_by_index);
  need("nvmlDeviceGetPciInfo_v3", &fn.pci_info);
  need("nvmlDeviceGetUUID", &fn.uuid);
  need("nvmlDeviceGetName", &fn.name);
  need("nvmlDeviceGetMemoryInfo", &fn.memory);
  need("nvmlDeviceGetUtilizationRates", &fn.utilization);
  if (missing != nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(name, " has no function ", missing));
  }
  // Drivers before 510 have only _v2, with the same layout.
  Find(library, "nvmlDeviceGetComputeRunningProcesses_v3", &fn.compute_processes) ||
      Find(library, "nvmlDeviceGetComputeRunningProcesses_v2", &fn.compute_processes);
  Find(library, "nvmlDeviceGetGraphicsRunningProcesses_v3", &fn.graphics_processes) ||
      Find(library, "nvmlDeviceGetGraphicsRunningProcesses_v2", &fn.graphics_processes);
  return fn;
}

absl::StatusOr<std::shared_ptr<NvmlApi>> NvmlApi::Load(const std::string& library) {
  // The library is never closed. NVML starts threads of its own, which would be left without their
  // code.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return absl::NotFoundError(dlerror());
  HPC_ASSIGN_OR_RETURN(Functions functions, Resolve(handle, library));
  const nvmlReturn_t result = functions.init();
  if (result == kNvmlDriverNotLoaded) {
    return absl::FailedPreconditionError(
        absl::StrCat("nvmlInit: ", functions.error_string(result)));
  }
  if (result != kNvmlSuccess) {
    return absl::UnavailableError(absl::StrCat("nvmlInit: ", functions.error_string(result)));
  }
  return std::shared_ptr<NvmlApi>(new NvmlApi(functions));
}

NvmlApi::~NvmlApi() { fn_.shutdown(); }

absl::Status NvmlApi::Check(nvmlReturn_t result, absl::string_view what) const {
  if (result == kNvmlSuccess) return absl::OkStatus();
  std::string message = absl::StrCat(what, ": ", fn_.error_string(result));
  if (result == kNvmlNotSupported) return absl::UnimplementedError(message);
  return absl::UnavailableError(message);
}

absl::StatusOr<std::string> NvmlApi::DriverVersion() const {
  char version[kNvmlDriverVersionSize] = "";
  HPC_RETURN_IF_ERROR(Check(fn_.driver_version(version, sizeof(version)), "driver version"));
  return std::string(version);
}

absl::StatusOr<unsigned> NvmlApi::DeviceCount() const {
  unsigned count = 0;
  HPC_RETURN_IF_ERROR(Check(fn_.device_count(&count), "device count"));
  return count;
}

absl::StatusOr<nvmlDevice_t> NvmlApi::DeviceByIndex(unsigned index) const {
  nvmlDevice_t device = nullptr;
  HPC_RETURN_IF_ERROR(Check(fn_.device_by_index(index, &device), "handle"));
  return device;
}

absl::StatusOr<nvmlPciInfo_t> NvmlApi::PciInfo(nvmlDevice_t device) const {
  nvmlPciInfo_t info = {};
  HPC_RETURN_IF_ERROR(Check(fn_.pci_info(device, &info), "PCI address"));
  return info;
}

absl::StatusOr<std::string> NvmlApi::Uuid(nvmlDevice_t device) const {
  char uuid[kNvmlUuidSize] = "";
  HPC_RETURN_IF_ERROR(Check(fn_.uuid(device, uuid, sizeof(uuid)), "UUID"));
  return std::string(uuid);
}

absl::StatusOr<std::string> NvmlApi::Name(nvmlDevice_t device) const {
  char name[kNvmlNameSize] = "";
  HPC_RETURN_IF_ERROR(Check(fn_.name(device, name, sizeof(name)), "name"));
  return std::string(name);
}

absl::StatusOr<nvmlMemory_t> NvmlApi::Memory(nvmlDevice_t device) const {
  nvmlMemory_t memory = {};
  HPC_RETURN_IF_ERROR(Check(fn_.memory(device, &memory), "memory"));
  return memory;
}

absl::StatusOr<nvmlUtilization_t> NvmlApi::Utilization(nvmlDevice_t device) const {
  nvmlUtilization_t utilization = {};
  HPC_RETURN_IF_ERROR(Check(fn_.utilization(device, &utilization), "utilisation"));
  return utilization;
}

absl::StatusOr<std::vector<nvmlProcessInfo_t>> NvmlApi::Processes(ListProcesses list,
                                                                  nvmlDevice_t device,
                                                                  absl::string_view what) const {
  if (list == nullptr) {
    return absl::UnimplementedError(absl::StrCat(what, ": this driver cannot list them"));
  }
  std::vector<nvmlProcessInfo_t> processes(32);
  nvmlReturn_t result = kNvmlInsufficientSize;
  // Processes may start between two calls, so the size that one call asks for may be too small for
  // the next.
  for (int tries = 0; tries < 5 && result == kNvmlInsufficientSize; ++tries) {
    auto count = static_cast<unsigned>(processes.size());
    result = list(device, &count, processes.data());
    processes.resize(result == kNvmlInsufficientSize ? count + count / 2 + 8 : count);
  }
  HPC_RETURN_IF_ERROR(Check(result, what));
  return processes;
}

absl::StatusOr<std::vector<nvmlProcessInfo_t>> NvmlApi::ComputeProcesses(
    nvmlDevice_t device) const {
  return Processes(fn_.compute_processes, device, "compute processes");
}

absl::StatusOr<std::vector<nvmlProcessInfo_t>> NvmlApi::GraphicsProcesses(
    nvmlDevice_t device) const {
  return Processes(fn_.graphics_processes, device, "graphics processes");
}

}  // namespace hpc::worker
