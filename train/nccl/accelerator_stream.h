// The stream of a GPU. It needs none of CUDA's headers and libraries to build. LibTorch's interface
// to any accelerator reaches CUDA through what libtorch_cuda.so registers (torch_cuda.h).
#ifndef HPC_TRAIN_NCCL_ACCELERATOR_STREAM_H_
#define HPC_TRAIN_NCCL_ACCELERATOR_STREAM_H_

#include <c10/core/Device.h>

#include <memory>

#include "train/nccl/device_stream.h"

namespace hpc::train {

// Makes a stream of high priority, because a collective's few blocks should not wait behind a
// backward pass's many. Throws c10::Error if there is no such device.
std::unique_ptr<DeviceStream> MakeAcceleratorStream(at::Device device);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_ACCELERATOR_STREAM_H_
