// Saves memory for time: intermediate results of a part of a model are not kept for the backward
// pass, but computed again there.
#ifndef HPC_TRAIN_PARALLEL_RECOMPUTE_H_
#define HPC_TRAIN_PARALLEL_RECOMPUTE_H_

#include <ATen/core/Tensor.h>

#include <functional>

namespace hpc::train {

// Returns part(input), and only keeps `input`. In the backward pass `part` runs a second time, with
// the random numbers (dropout) and the autocast of the first time. So gradients have the same bits
// as without it. It costs one more forward pass of the part.
//
// `part` must be deterministic but for torch's default random numbers, and must change nothing
// (BatchNorm's running means would count twice). It is copied and lives as long as the graph, so
// what it captures must live as long. It may use parameters. Their gradients are complete, and then
// reduced, when the outermost backward pass has ended. While no gradients are recorded it is just
// part(input).
at::Tensor Recompute(std::function<at::Tensor(const at::Tensor&)> part, const at::Tensor& input);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_RECOMPUTE_H_
