// The communicator for a GPU's tensors, over NCCL. Beside it there is one over Gloo for tensors of
// the CPU: ranks tell each other small things there, which a GPU would only delay.
#ifndef HPC_TRAIN_NCCL_NCCL_COMMUNICATOR_H_
#define HPC_TRAIN_NCCL_NCCL_COMMUNICATOR_H_

#include <c10/core/Device.h>

#include <functional>
#include <memory>

#include "train/group/gloo_communicator.h"
#include "train/nccl/device_stream.h"
#include "train/nccl/nccl_library.h"

namespace hpc::train {

// The parts of a communicator. A test brings its own where there is no GPU.
struct NcclParts {
  std::shared_ptr<const NcclLibrary> library;
  std::unique_ptr<DeviceStream> stream;
};
// Throws std::exception where this PC lacks something, and says what it has.
using MakeNcclParts = std::function<NcclParts()>;

// Returns the parts for `device`, a GPU of this PC.
NcclParts NcclPartsOf(at::Device device);

// Works like MakeGlooCommunicator, except that a single rank gets a communicator of NCCL, too. If
// `make` throws on a rank, all ranks throw what it says there, with the rank.
//
// Operations with tensors of `device` run on a stream of their own. They begin when what the
// calling thread's current stream was given by then is done, and run beside what it is given later.
// Pending::Wait does not wait on the host: what the calling thread gives its current stream
// afterwards finds them done. It throws if the group is dead by then. If the group dies later, the
// content of their tensors is undefined, and every later operation throws. So whoever uses results
// outside of the group, as a checkpoint does, must first make sure by a Barrier that the group
// lives.
//
// A thread of its own watches deadlines, and errors that NCCL reports. When the group is dead it
// aborts NCCL's communicator, so that streams do not wait for ever.
//
// Operations with tensors of the CPU, and Barrier, go over Gloo, and are numbered with the others.
// Types: float, double, half, bfloat16, int8, int32, int64, uint8; any type in AllGather and
// Broadcast.
std::shared_ptr<Communicator> MakeNcclCommunicator(const LaunchEnvironment& environment,
                                                   at::Device device,
                                                   const GlooOptions& options = {},
                                                   const MakeNcclParts& make = nullptr);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_NCCL_COMMUNICATOR_H_
