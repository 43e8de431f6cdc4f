// Makes a group over the stand-in for NCCL, whose operations take tensors of the CPU.
#ifndef HPC_TRAIN_TESTING_FAKE_NCCL_GROUP_H_
#define HPC_TRAIN_TESTING_FAKE_NCCL_GROUP_H_

#include <memory>
#include <string>

#include "train/group/gloo_communicator.h"
#include "train/testing/host_stream.h"

namespace hpc::train {

// `library` is the path of one of the stand-ins. `stream`, if given, becomes the group's.
std::shared_ptr<Communicator> MakeFakeNcclCommunicator(const LaunchEnvironment& environment,
                                                       const std::string& library,
                                                       const GlooOptions& options = {},
                                                       HostStream** stream = nullptr);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_FAKE_NCCL_GROUP_H_
