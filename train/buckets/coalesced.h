// Sends many tensors in few messages.
#ifndef HPC_TRAIN_BUCKETS_COALESCED_H_
#define HPC_TRAIN_BUCKETS_COALESCED_H_

#include <string>
#include <vector>

#include "train/group/communicator.h"

namespace hpc::train {

// Gives all ranks the tensors of rank `root`, in place. Tensors of one type and device travel
// together, about `bytes` at a time. They may have any strides. Returns when it is done. The ranks
// must have tensors of the same types and shapes, in the same order.
void BroadcastCoalesced(Communicator& group, const std::vector<at::Tensor>& tensors, int root,
                        const std::string& name, size_t bytes = 32 << 20);

}  // namespace hpc::train

#endif  // HPC_TRAIN_BUCKETS_COALESCED_H_
