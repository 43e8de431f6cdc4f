// The queue of a device in which a communicator's operations run, beside the one in which the model
// computes. The code around NCCL knows nothing else of a GPU, so it can be tested where there is
// none (testing/host_stream.h).
#ifndef HPC_TRAIN_NCCL_DEVICE_STREAM_H_
#define HPC_TRAIN_NCCL_DEVICE_STREAM_H_

#include <chrono>
#include <memory>

#include "train/nccl/nccl_abi.h"

namespace hpc::train {

// A place in a stream, after everything that the stream was given until then. May be used from any
// thread.
class StreamMark {
 public:
  virtual ~StreamMark() = default;

  // Returns whether all of that is done. Throws std::exception if the device has failed.
  virtual bool Done() = 0;

  // Makes what the calling thread gives its current stream from now on run after this place.
  // Returns false if that could not be done within `limit`. A device's stream does it at once. On a
  // host, where there is no current stream, the calling thread itself waits.
  virtual bool LetCurrentFollow(std::chrono::milliseconds limit) = 0;

  // Returns whether the calling thread's current stream is the one that was current where this
  // place was marked.
  virtual bool IsOfCurrent() const = 0;
};

// Thread-safe.
class DeviceStream {
 public:
  virtual ~DeviceStream() = default;

  virtual NcclStream native() const = 0;

  // While the result lives, the stream's device is the calling thread's current one.
  virtual std::shared_ptr<void> UseDevice() const = 0;

  // Makes what this stream is given from now on run after what the calling thread's current stream
  // was given by now.
  virtual void FollowCurrent() = 0;

  virtual std::shared_ptr<StreamMark> Mark() = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_NCCL_DEVICE_STREAM_H_
