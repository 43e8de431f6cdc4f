// NVIDIA's management library, loaded at run time.
#ifndef HPC_WORKER_OS_DEVICES_NVML_API_H_
#define HPC_WORKER_OS_DEVICES_NVML_API_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "worker/os/devices/nvml_abi.h"

namespace hpc::worker {

// NVML after its initialisation; the last owner shuts it down. Calls may come from any thread. Any
// of them may block for as long as the driver likes.
//
// Status codes: Unimplemented when the GPU, the driver or this version of the library does not
// support what is asked; Unavailable for every other error of NVML, in its own words.
class NvmlApi {
 public:
  // $HPC_NVML_LIBRARY if set, otherwise "libnvidia-ml.so.1".
  static std::string LibraryName();

  // NotFound: there is no such library. FailedPrecondition: it lacks a function that every release
  // has. Unavailable: nvmlInit failed (no driver loaded, driver and library differ ...).
  static absl::StatusOr<std::shared_ptr<NvmlApi>> Load(const std::string& library);
  ~NvmlApi();
  NvmlApi(const NvmlApi&) = delete;
  NvmlApi& operator=(const NvmlApi&) = delete;

  absl::StatusOr<std::string> DriverVersion() const;
  absl::StatusOr<unsigned> DeviceCount() const;
  absl::StatusOr<nvmlDevice_t> DeviceByIndex(unsigned index) const;
  absl::StatusOr<nvmlPciInfo_t> PciInfo(nvmlDevice_t device) const;
  absl::StatusOr<std::string> Uuid(nvmlDevice_t device) const;
  absl::StatusOr<std::string> Name(nvmlDevice_t device) const;
  absl::StatusOr<nvmlMemory_t> Memory(nvmlDevice_t device) const;
  absl::StatusOr<nvmlUtilization_t> Utilization(nvmlDevice_t device) const;
  absl::StatusOr<std::vector<nvmlProcessInfo_t>> ComputeProcesses(nvmlDevice_t device) const;
  absl::StatusOr<std::vector<nvmlProcessInfo_t>> GraphicsProcesses(nvmlDevice_t device) const;

 private:
  using ListProcesses = nvmlReturn_t (*)(nvmlDevice_t, unsigned*, nvmlProcessInfo_t*);
  struct Functions {
    nvmlReturn_t (*init)();
    nvmlReturn_t (*shutdown)();
    const char* (*error_string)(nvmlReturn_t);
    nvmlReturn_t (*driver_version)(char*, unsigned);
    nvmlReturn_t (*device_count)(unsigned*);
    nvmlReturn_t (*device_by_index)(unsigned, nvmlDevice_t*);
    nvmlReturn_t (*pci_info)(nvmlDevice_t, nvmlPciInfo_t*);
    nvmlReturn_t (*uuid)(nvmlDevice_t, char*, unsigned);
    nvmlReturn_t (*name)(nvmlDevice_t, char*, unsigned);
    nvmlReturn_t (*memory)(nvmlDevice_t, nvmlMemory_t*);
    nvmlReturn_t (*utilization)(nvmlDevice_t, nvmlUtilization_t*);
    ListProcesses compute_processes;   // null: the driver is too old
    ListProcesses graphics_processes;  // null: the driver is too old
  };

  explicit NvmlApi(const Functions& functions) : fn_(functions) {}
  static absl::StatusOr<Functions> Resolve(void* library, const std::string& name);
  absl::Status Check(nvmlReturn_t result, absl::string_view what) const;
  absl::StatusOr<std::vector<nvmlProcessInfo_t>> Processes(ListProcesses list, nvmlDevice_t device,
                                                           absl::string_view what) const;

  const Functions fn_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_DEVICES_NVML_API_H_
