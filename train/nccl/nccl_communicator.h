// The communicator of a GPU's tensors, over NCCL, with one over Gloo beside it for tensors of the
// CPU: what ranks tell each other in small messages, which a GPU would only delay.
#ifndef HPC_TRAIN_NCCL_NCCL_COMMUNICATOR_H_
#define HPC_TRAIN_NCCL_NCCL_COMMUNICATOR_H_

#include <c10/core/Device.h>

#include <functional>
#include <memory>

#include "train/group/gloo_communicator.h"
#include "train/nccl/device_stream.h"
#include "train/nccl/nccl_library.h"

namespace hpc::train {

// What it is made of; a test's own where there is no GPU.
struct NcclParts {
  std::shared_ptr<const NcclLibrary> library;
  std::unique_ptr<DeviceStream> stream;
};
// Throws std::exception where this PC has not what it takes, and says what it has.
using MakeNcclParts = std::function<NcclParts()>;

// Of `device`, a GPU of this PC.
NcclParts NcclPartsOf(at::Device device);

// As MakeGlooCommunicator, but that one rank gets a communicator of NCCL too. If `make` throws on a
// rank, all of them throw what it says there, with the rank.
//
// Operations with tensors of `device` run on a stream of their own, which begins them when what the
// calling thread's current stream was given by then is done, so beside what it is given later.
// Pending::Wait does not wait on the host: what the calling thread gives its current stream
// afterwards finds them done. It throws if the group is dead by then. Where it dies later, what is
// in their tensors is undefined, and every later operation throws: so who uses results outside of
// the group, as a checkpoint does, looks first whether the group lives, by a Barrier.
//
// A thread of its own watches deadlines, and errors that NCCL reports. When the group is dead it
// aborts NCCL's communicator, so that streams do not wait for ever.
//
// Operations with tensors of the CPU, and Barrier, go over Gloo, and are numbered with the others.
// Types: float, double, half, bfloat16, int8, int32, int64, uint8; any in AllGather and Broadcast.
std::shared_ptr<Communicator> MakeNcclCommunicator(const LaunchEnvironment& environment,
                                                   at::Device device,
                                                   const GlooOptions& options = {},
                                                   const MakeNcclParts& make = nullptr);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_NCCL_COMMUNICATOR_H_
