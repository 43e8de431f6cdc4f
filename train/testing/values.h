// The numbers of tensors, to hand from a rank to the test and to compare.
#ifndef HPC_TRAIN_TESTING_VALUES_H_
#define HPC_TRAIN_TESTING_VALUES_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "train/testing/rank_processes.h"

namespace hpc::train {

// Those of all tensors, in order.
Values Flat(const std::vector<at::Tensor>& tensors);

// The greatest between two of one place; infinite if there are none, or not as many.
double Difference(const Values& a, const Values& b);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_VALUES_H_
