// The communicator that fits where a model is: Gloo for CPUs, NCCL for GPUs, neither for one rank.
#ifndef HPC_TRAIN_MAKE_COMMUNICATOR_H_
#define HPC_TRAIN_MAKE_COMMUNICATOR_H_

#include <c10/core/Device.h>

#include <memory>
#include <string>

#include "train/group/communicator.h"
#include "train/group/gloo_communicator.h"
#include "train/net/launch_environment.h"

namespace hpc::train {

// Where this rank computes. "cpu"; "cuda": the GPU of number LOCAL_RANK, whether it is there or
// not, which MakeCommunicator says on all ranks; "auto": that GPU if LibTorch can use any here,
// else the CPU. Before anything else asks LibTorch for CUDA (manual_seed, backward, a forward
// pass): it looks for it once. Throws std::invalid_argument at other words.
at::Device ChooseDevice(const std::string& wanted, const LaunchEnvironment& environment);

// For tensors on `device`, a CPU or GPU, and for those of the CPU in any case. Ranks compare which
// of both it is. `options` are those of both. Throws std::runtime_error, on all ranks, that names
// the rank: its GPU cannot be used and what was found, it has no NCCL, it has another kind of
// device than rank 0, or it did not come; and CollectiveError.
std::shared_ptr<Communicator> MakeCommunicator(const LaunchEnvironment& environment,
                                               at::Device device, const GlooOptions& options = {});

}  // namespace hpc::train

#endif  // HPC_TRAIN_MAKE_COMMUNICATOR_H_
