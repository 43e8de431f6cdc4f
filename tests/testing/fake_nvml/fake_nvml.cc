// The functions of NVML that the worker and nvidia-ml-py's basic queries use. They answer from a
// state file.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>
#include <thread>

#include "tests/testing/fake_nvml/fake_nvml_state.h"
#include "worker/os/devices/nvml_abi.h"

namespace {

using hpc::testing::FakeGpu;
using hpc::testing::FakeNvmlState;
using hpc::testing::ReadFakeNvmlState;
using namespace hpc::worker;  // for the codes

// Handles are indices + 1.
nvmlDevice_t Handle(size_t index) { return reinterpret_cast<nvmlDevice_t>(index + 1); }

// Looks up the device, and hangs or fails if the state file says so for `what`.
nvmlReturn_t FindGpu(nvmlDevice_t device, const std::string& what, FakeGpu* gpu) {
  while (true) {
    auto state = ReadFakeNvmlState();
    if (!state) return kNvmlUninitialized;
    const size_t index = reinterpret_cast<uintptr_t>(device) - 1;
    if (index >= state->gpus.size()) return kNvmlInvalidArgument;
    *gpu = state->gpus[index];
    if (gpu->hangs.count(what) == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  auto error = gpu->errors.find(what);
  return error == gpu->errors.end() ? kNvmlSuccess : error->second;
}

nvmlReturn_t Copy(const std::string& value, char* buffer, unsigned size) {
  if (value.size() + 1 > size) return kNvmlInsufficientSize;
  memcpy(buffer, value.c_str(), value.size() + 1);
  return kNvmlSuccess;
}

nvmlReturn_t Value(nvmlDevice_t device, const std::string& what, std::string* value) {
  FakeGpu gpu;
  if (nvmlReturn_t error = FindGpu(device, what, &gpu)) return error;
  auto it = gpu.values.find(what);
  if (it == gpu.values.end()) return kNvmlNotSupported;
  *value = it->second;
  return kNvmlSuccess;
}

nvmlReturn_t Text(nvmlDevice_t device, const std::string& what, char* buffer, unsigned size) {
  std::string value;
  if (nvmlReturn_t error = Value(device, what, &value)) return error;
  return Copy(value, buffer, size);
}

template <typename T>
nvmlReturn_t Number(nvmlDevice_t device, const std::string& what, T* number) {
  std::string value;
  if (nvmlReturn_t error = Value(device, what, &value)) return error;
  return std::istringstream(value) >> *number ? kNvmlSuccess : kNvmlUnknown;
}

nvmlReturn_t Processes(nvmlDevice_t device, const std::string& what, unsigned* count,
                       nvmlProcessInfo_t* infos) {
  FakeGpu gpu;
  if (nvmlReturn_t error = FindGpu(device, what, &gpu)) return error;
  const auto& found = what == "compute" ? gpu.compute : gpu.graphics;
  const bool fits = found.size() <= *count;
  *count = static_cast<unsigned>(found.size());
  if (!fits) return kNvmlInsufficientSize;
  std::copy(found.begin(), found.end(), infos);
  return kNvmlSuccess;
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlInit_v2() {
  auto state = ReadFakeNvmlState();
  return state ? state->init_error : kNvmlDriverNotLoaded;
}

nvmlReturn_t nvmlInitWithFlags(unsigned) { return nvmlInit_v2(); }

nvmlReturn_t nvmlShutdown() { return kNvmlSuccess; }

const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case kNvmlSuccess:
      return "Success";
    case kNvmlUninitialized:
      return "Uninitialized";
    case kNvmlInvalidArgument:
      return "Invalid Argument";
    case kNvmlNotSupported:
      return "Not Supported";
    case kNvmlInsufficientSize:
      return "Insufficient Size";
    case kNvmlDriverNotLoaded:
      return "Driver Not Loaded";
    case kNvmlGpuIsLost:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned size) {
  auto state = ReadFakeNvmlState();
  return state ? Copy(state->driver, version, size) : kNvmlUninitialized;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  auto state = ReadFakeNvmlState();
  if (!state) return kNvmlUninitialized;
  *count = static_cast<unsigned>(state->gpus.size());
  return kNvmlSuccess;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  *device = Handle(index);
  FakeGpu gpu;
  return FindGpu(*device, "handle", &gpu);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned size) {
  return Text(device, "uuid", uuid, size);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned size) {
  return Text(device, "name", name, size);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  *pci = {};
  if (nvmlReturn_t error = Text(device, "pci", pci->busId, sizeof(pci->busId))) return error;
  sscanf(pci->busId, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
  snprintf(pci->busIdLegacy, sizeof(pci->busIdLegacy), "%04x:%02x:%02x.0", pci->domain & 0xffff,
           pci->bus & 0xff, pci->device & 0xff);
  return kNvmlSuccess;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  std::string value;
  if (nvmlReturn_t error = Value(device, "memory", &value)) return error;
  std::istringstream(value) >> memory->total >> memory->used;
  memory->free = memory->total - memory->used;
  return kNvmlSuccess;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  utilization->memory = 0;
  return Number(device, "utilization", &utilization->gpu);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  return Number(device, "power", milliwatts);
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long* millijoules) {
  return Number(device, "energy", millijoules);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_t* infos) {
  return Processes(device, "compute", count, infos);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                      nvmlProcessInfo_t* infos) {
  return Processes(device, "graphics", count, infos);
}

}  // extern "C"
