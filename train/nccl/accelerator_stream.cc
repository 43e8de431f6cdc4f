#include "train/nccl/accelerator_stream.h"

#include <ATen/DeviceAccelerator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace hpc::train {
namespace {

class EventMark : public StreamMark {
 public:
  explicit EventMark(const c10::Stream& stream)
      : device_(stream.device()),
        event_(stream.device_type()),
        marked_from_(at::accelerator::getCurrentStream(device_.index())) {
    event_.record(stream);
  }

  bool Done() override {
    const c10::DeviceGuard guard(device_);
    return event_.query();
  }
  bool LetCurrentFollow(std::chrono::milliseconds) override {
    event_.block(at::accelerator::getCurrentStream(device_.index()));
    return true;
  }
  bool IsOfCurrent() const override {
    return at::accelerator::getCurrentStream(device_.index()) == marked_from_;
  }

 private:
  const at::Device device_;
  c10::Event event_;
  const c10::Stream marked_from_;
};

class AcceleratorStream : public DeviceStream {
 public:
  explicit AcceleratorStream(at::Device device)
      : stream_(c10::impl::VirtualGuardImpl(device.type())
                    .getStreamFromGlobalPool(device, /*isHighPriority=*/true)) {}

  NcclStream native() const override { return stream_.native_handle(); }

  std::shared_ptr<void> UseDevice() const override {
    return std::make_shared<c10::DeviceGuard>(stream_.device());
  }

  // The event may go at once, because its effect on the streams stays.
  void FollowCurrent() override {
    c10::Event event(stream_.device_type());
    event.record(at::accelerator::getCurrentStream(stream_.device_index()));
    event.block(stream_);
  }

  std::shared_ptr<StreamMark> Mark() override { return std::make_shared<EventMark>(stream_); }

 private:
  const c10::Stream stream_;
};

}  // namespace

std::unique_ptr<DeviceStream> MakeAcceleratorStream(at::Device device) {
  return std::make_unique<AcceleratorStream>(device);
}

}  // namespace hpc::train
