// Asks one GPU what it is doing, and never waits for it longer than a limit.
#ifndef HPC_WORKER_OS_DEVICES_GPU_READER_H_
#define HPC_WORKER_OS_DEVICES_GPU_READER_H_

#include <chrono>
#include <memory>
#include <string>

#include "protocol/inventory.h"
#include "worker/os/devices/nvml_api.h"
#include "worker/os/devices/side_thread.h"
#include "worker/os/seams.h"

namespace hpc::worker {

// For use by one thread.
class GpuReader {
 public:
  GpuReader(std::shared_ptr<const NvmlApi> api, nvmlDevice_t handle, protocol::Device device,
            std::string root);

  // Begins a reading, unless an earlier one still hangs.
  void Start();
  // Returns the reading once it is there. If it is not there at `deadline`, returns a usage without
  // values. The log tells when the GPU begins to fail or hang, and when it works again.
  DeviceUsage Finish(std::chrono::steady_clock::time_point deadline);

 private:
  struct Reading {
    DeviceUsage usage;
    std::string error;  // the first error that is not "not supported"
  };
  static Reading Read(const NvmlApi& api, nvmlDevice_t handle, int32_t index,
                      const std::string& root);
  void Report(const std::string& error);

  const std::shared_ptr<const NvmlApi> api_;
  const nvmlDevice_t handle_;
  const protocol::Device device_;
  const std::string root_;
  bool hangs_ = false;
  std::shared_ptr<Reading> reading_;
  std::string reported_;  // "": no error
  SideThread thread_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_DEVICES_GPU_READER_H_
