#include "train/make_communicator.h"

#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "train/group/lone_communicator.h"
#include "train/nccl/nccl_communicator.h"
#include "train/nccl/torch_cuda.h"

namespace hpc::train {

at::Device ChooseDevice(const std::string& wanted, const LaunchEnvironment& environment) {
  const at::Device gpu(at::kCUDA, static_cast<c10::DeviceIndex>(environment.local_rank));
  if (wanted == "cpu") return at::kCPU;
  if (wanted == "cuda") return gpu;
  if (wanted == "auto") return UsableGpus() > 0 ? gpu : at::Device(at::kCPU);
  throw std::invalid_argument(absl::StrCat("a device is auto, cpu or cuda, not '", wanted, "'"));
}

std::shared_ptr<Communicator> MakeCommunicator(const LaunchEnvironment& environment,
                                               at::Device device, const GlooOptions& options) {
  if (device.is_cpu()) return MakeGlooCommunicator(environment, options);
  if (environment.world_size > 1) return MakeNcclCommunicator(environment, device, options);
  CheckGpu(device);
  return std::make_shared<LoneCommunicator>(environment.number());
}

}  // namespace hpc::train
