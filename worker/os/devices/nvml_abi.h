// The part of NVML's binary interface that is used here, with NVML's names and layouts. It is
// declared here, so NVIDIA's nvml.h is not needed to build, and the library is looked for only at
// run time.
#ifndef HPC_WORKER_OS_DEVICES_NVML_ABI_H_
#define HPC_WORKER_OS_DEVICES_NVML_ABI_H_

#include <cstdint>

extern "C" {

using nvmlReturn_t = int;
using nvmlDevice_t = struct nvmlDevice_st*;

struct nvmlPciInfo_t {
  char busIdLegacy[16];
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t pciDeviceId;
  uint32_t pciSubSystemId;
  char busId[32];  // "00000000:41:00.0"
};

struct nvmlMemory_t {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct nvmlUtilization_t {
  uint32_t gpu;
  uint32_t memory;
};

// For the functions that end in _v2 and _v3.
struct nvmlProcessInfo_t {
  uint32_t pid;
  unsigned long long usedGpuMemory;
  uint32_t gpuInstanceId;
  uint32_t computeInstanceId;
};

}  // extern "C"

namespace hpc::worker {

inline constexpr nvmlReturn_t kNvmlSuccess = 0;
inline constexpr nvmlReturn_t kNvmlUninitialized = 1;
inline constexpr nvmlReturn_t kNvmlInvalidArgument = 2;
inline constexpr nvmlReturn_t kNvmlNotSupported = 3;
inline constexpr nvmlReturn_t kNvmlInsufficientSize = 7;
inline constexpr nvmlReturn_t kNvmlDriverNotLoaded = 9;
inline constexpr nvmlReturn_t kNvmlGpuIsLost = 15;
inline constexpr nvmlReturn_t kNvmlUnknown = 999;

inline constexpr unsigned long long kNvmlMemoryNotAvailable = ~0ULL;
inline constexpr unsigned kNvmlNameSize = 96;
inline constexpr unsigned kNvmlUuidSize = 96;
inline constexpr unsigned kNvmlDriverVersionSize = 80;

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_DEVICES_NVML_ABI_H_
