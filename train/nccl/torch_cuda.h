// The GPUs that LibTorch can use here.
//
// Programs are linked with LibTorch's library for the CPU. If this LibTorch supports CUDA, the
// library for it lies beside that one, and is loaded when a GPU is asked for the first time.
#ifndef HPC_TRAIN_NCCL_TORCH_CUDA_H_
#define HPC_TRAIN_NCCL_TORCH_CUDA_H_

#include <c10/core/Device.h>

#include <optional>
#include <string>

namespace hpc::train {

// Returns the folder of the libtorch_cpu.so of this process.
std::string TorchFolder();

// Returns none if `device`, a GPU, can be used. Otherwise says why not, and what was found: "this
// LibTorch (FOLDER) is the one for CPUs", "this PC has 1 GPU that LibTorch can use, and no number
// 1". Must be called before anything else asks LibTorch for CUDA, which it looks for only once. May
// be called from any thread.
std::optional<std::string> WhyNoGpu(at::Device device);

// Throws std::runtime_error with WhyNoGpu.
void CheckGpu(at::Device device);

// Returns how many GPUs there are; 0 where none can be used.
int UsableGpus();

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_TORCH_CUDA_H_
