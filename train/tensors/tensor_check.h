// Checks the tensors that are given to a communicator.
#ifndef HPC_TRAIN_TENSORS_TENSOR_CHECK_H_
#define HPC_TRAIN_TENSORS_TENSOR_CHECK_H_

#include <ATen/core/Tensor.h>

#include <string>

namespace hpc::train {

// Returns "float[1000]": type and number of elements.
std::string TypeAndSize(const at::Tensor& tensor);

// Throws std::invalid_argument, which names `operation`, unless the tensor is defined, dense and
// contiguous.
void CheckTensor(const at::Tensor& tensor, const std::string& operation);

// Throws unless it is on the CPU.
void CheckOnCpu(const at::Tensor& tensor, const std::string& operation);

// Throws unless Gloo and NCCL can compute with its type.
void CheckSummable(const at::Tensor& tensor, const std::string& operation);

// Does CheckTensor for both. Also throws unless `whole` has the type and device of `part`, and
// `times` x as many elements.
void CheckParts(const at::Tensor& whole, const at::Tensor& part, int times,
                const std::string& operation);

// Does CheckTensor. Also throws unless it is of bytes on the CPU, and `counts` are the sizes of its
// parts for `ranks` ranks.
void CheckBytes(const at::Tensor& tensor, const std::vector<int64_t>& counts, int ranks,
                const std::string& operation);

// Throws unless `root` is a rank.
void CheckRoot(int root, int size, const std::string& operation);

}  // namespace hpc::train

#endif  // HPC_TRAIN_TENSORS_TENSOR_CHECK_H_
