#include "train/testing/fake_nccl_group.h"

#include "train/nccl/nccl_communicator.h"

namespace hpc::train {

std::shared_ptr<Communicator> MakeFakeNcclCommunicator(const LaunchEnvironment& environment,
                                                       const std::string& library,
                                                       const GlooOptions& options,
                                                       HostStream** stream) {
  return MakeNcclCommunicator(environment, at::kCPU, options, [&] {
    auto made = std::make_unique<HostStream>();
    if (stream != nullptr) *stream = made.get();
    return NcclParts{.library = LoadNccl({library}), .stream = std::move(made)};
  });
}

}  // namespace hpc::train
