// The numbers of tensors, to be handed from a rank to the test and compared.
#ifndef HPC_TRAIN_TESTING_VALUES_H_
#define HPC_TRAIN_TESTING_VALUES_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "train/testing/rank_processes.h"

namespace hpc::train {

// Returns the numbers of all tensors, in order.
Values Flat(const std::vector<at::Tensor>& tensors);

// Returns the greatest difference between two numbers at the same place. It is infinite if there
// are none, or the lists differ in length.
double Difference(const Values& a, const Values& b);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_VALUES_H_
