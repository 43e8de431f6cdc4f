// Makes the communicator that fits the place of a model: Gloo for CPUs, NCCL for GPUs, neither for
// one rank.
#ifndef HPC_TRAIN_MAKE_COMMUNICATOR_H_
#define HPC_TRAIN_MAKE_COMMUNICATOR_H_

#include <c10/core/Device.h>

#include <memory>
#include <string>

#include "train/group/communicator.h"
#include "train/group/gloo_communicator.h"
#include "train/net/launch_environment.h"

namespace hpc::train {

// Returns the device on which this rank computes. "cpu" is the CPU. "cuda" is the GPU of number
// LOCAL_RANK, even if it is not there, which MakeCommunicator reports on all ranks. "auto" is that
// GPU if LibTorch can use any GPU here, else the CPU. Must be called before anything else asks
// LibTorch for CUDA (manual_seed, backward, a forward pass), since LibTorch looks for it only once.
// Throws std::invalid_argument for other words.
at::Device ChooseDevice(const std::string& wanted, const LaunchEnvironment& environment);

// Makes a communicator for tensors on `device`, a CPU or GPU, and in any case for tensors of the
// CPU. Ranks compare which of the two kinds it is. `options` hold for both. Throws CollectiveError.
// Throws std::runtime_error, on all ranks, that names the rank: its GPU cannot be used and what was
// found, it has no NCCL, it has another kind of device than rank 0, or it did not come.
std::shared_ptr<Communicator> MakeCommunicator(const LaunchEnvironment& environment,
                                               at::Device device, const GlooOptions& options = {});

}  // namespace hpc::train

#endif  // HPC_TRAIN_MAKE_COMMUNICATOR_H_
