// Memory for time: what a part of a model made on the way is not kept for the backward pass, but
// made again there.
#ifndef HPC_TRAIN_PARALLEL_RECOMPUTE_H_
#define HPC_TRAIN_PARALLEL_RECOMPUTE_H_

#include <ATen/core/Tensor.h>

#include <functional>

namespace hpc::train {

// part(input), of which only `input` is kept. In the backward pass `part` runs a second time, with
// the random numbers (dropout) and the autocast of the first: gradients have the same bits as
// without. Costs one more forward pass of the part.
//
// `part` is deterministic but for torch's default random numbers, changes nothing (BatchNorm's
// running means would count twice), and lives as long as the graph: it is copied, so what it
// captures must. It may use parameters; their gradients are complete when the outermost backward
// pass has ended, and are then reduced. Without gradients being recorded it is just part(input).
at::Tensor Recompute(std::function<at::Tensor(const at::Tensor&)> part, const at::Tensor& input);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_RECOMPUTE_H_
