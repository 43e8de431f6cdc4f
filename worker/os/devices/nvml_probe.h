// NVIDIA GPUs, as NVML sees them.
#ifndef HPC_WORKER_OS_DEVICES_NVML_PROBE_H_
#define HPC_WORKER_OS_DEVICES_NVML_PROBE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protocol/inventory.h"
#include "worker/os/devices/gpu_reader.h"
#include "worker/os/devices/nvml_api.h"
#include "worker/os/seams.h"

namespace hpc::worker {

struct NvmlProbeOptions {
  std::string library;  // a name for dlopen
  // The longest wait for a driver that hangs: at the start, and for each Usage.
  absl::Duration start_limit = absl::Seconds(15);
  absl::Duration usage_limit = absl::Seconds(1);
  std::string root;  // in front of /proc; "" except in tests
};

// GPUs are found once, so their indices hold for the probe's life. A GPU that does not tell its PCI
// address and UUID (it has fallen off the bus) is left out and named in the log. The others are
// numbered in PCI bus order, as CUDA does it.
//
// Each GPU is asked on a thread of its own. A GPU that fails or hangs has a usage without values,
// and does not hide the others. A value that a GPU does not support is unknown, never 0.
class NvmlProbe : public DeviceProbe {
 public:
  // Errors are those of NvmlApi::Load, and DeadlineExceeded: the driver hangs.
  static absl::StatusOr<std::unique_ptr<NvmlProbe>> Open(const NvmlProbeOptions& options);

  std::vector<protocol::Device> Devices() override { return devices_; }
  std::vector<DeviceUsage> Usage() override;
  std::string DriverVersion() override { return driver_version_; }

 private:
  struct Found;
  static Found FindAll(const NvmlApi& api);
  NvmlProbe(const NvmlProbeOptions& options, std::shared_ptr<NvmlApi> api, Found found);

  const NvmlProbeOptions options_;
  std::vector<protocol::Device> devices_;
  std::string driver_version_;
  std::vector<std::unique_ptr<GpuReader>> readers_;  // parallel to devices_
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_DEVICES_NVML_PROBE_H_
