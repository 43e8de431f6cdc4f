// The stream of a GPU. Needs none of CUDA's headers and libraries to build: LibTorch's interface of
// any accelerator reaches CUDA through what libtorch_cuda.so registers (torch_cuda.h).
#ifndef HPC_TRAIN_NCCL_ACCELERATOR_STREAM_H_
#define HPC_TRAIN_NCCL_ACCELERATOR_STREAM_H_

#include <c10/core/Device.h>

#include <memory>

#include "train/nccl/device_stream.h"

namespace hpc::train {

// One of high priority: a collective's few blocks should not wait behind a backward pass's many.
// Throws c10::Error if there is no such device.
std::unique_ptr<DeviceStream> MakeAcceleratorStream(at::Device device);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_ACCELERATOR_STREAM_H_
