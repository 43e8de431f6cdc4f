// Where a communicator's operations run: a queue of a device, beside the one that the model
// computes in. The only thing that the code around NCCL knows of a GPU, so that it can be tested
// where there is none (testing/host_stream.h).
#ifndef HPC_TRAIN_NCCL_DEVICE_STREAM_H_
#define HPC_TRAIN_NCCL_DEVICE_STREAM_H_

#include <chrono>
#include <memory>

#include "train/nccl/nccl_abi.h"

namespace hpc::train {

// A place in a stream: what it was given until then. From any thread.
class StreamMark {
 public:
  virtual ~StreamMark() = default;

  // Whether all of that is done. Throws std::exception if the device has failed.
  virtual bool Done() = 0;

  // What the calling thread gives its current stream from now on runs after it. False: not within
  // `limit`. A device's stream takes no time for it; on a host, where there is no current stream,
  // it is the calling thread that waits.
  virtual bool LetCurrentFollow(std::chrono::milliseconds limit) = 0;

  // The calling thread's current stream is the one that was current where this place was marked.
  virtual bool IsOfCurrent() const = 0;
};

// Thread-safe.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;

  virtual NcclStream native() const = 0;

  // While the result lives, the stream's device is the calling thread's current one.
  virtual std::shared_ptr<void> UseDevice() const = 0;

  // What this stream is given from now on runs after what the calling thread's current stream was
  // given by now.
  virtual void FollowCurrent() = 0;

  virtual std::shared_ptr<StreamMark> Mark() = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_DEVICE_STREAM_H_
