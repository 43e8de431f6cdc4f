// A thread in place of a GPU's stream, for the stand-in for NCCL (fake_nccl.h). On a CPU,
// computations are done at once. So the stream has nothing to follow, and whoever follows the
// stream waits.
#ifndef HPC_TRAIN_TESTING_HOST_STREAM_H_
#define HPC_TRAIN_TESTING_HOST_STREAM_H_

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "train/nccl/device_stream.h"
#include "train/testing/fake_nccl.h"

namespace hpc::train {

class HostStream : public DeviceStream {
 public:
  HostStream();
  ~HostStream() override;  // waits until all that it was given is done

  NcclStream native() const override { return const_cast<Native*>(&native_); }
  std::shared_ptr<void> UseDevice() const override { return nullptr; }
  void FollowCurrent() override {}
  std::shared_ptr<StreamMark> Mark() override;

  // From now on marks throw that the device has failed.
  void Fail() { *failed_ = true; }

 private:
  struct Native : FakeStream {
    HostStream* self;
  };

  void Add(std::function<void()> run);
  void Run();

  Native native_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stop_ = false;
  const std::shared_ptr<std::atomic<bool>> failed_ = std::make_shared<std::atomic<bool>>(false);
  std::thread thread_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_TESTING_HOST_STREAM_H_
