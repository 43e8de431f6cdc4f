#include "worker/attempts/fence_watch.h"

#include <utility>

#include "absl/time/time.h"
#include "worker/loop/boot_time.h"

namespace hpc::worker {
namespace {

// With the default lease the fence leaves one second for killing the ranks, and never less than
// half a second. The supervisor gets this part of it. The rest is for killing what the supervisor
// has not killed.
constexpr absl::Duration kSlack = absl::Milliseconds(400);
constexpr absl::Duration kHearing = absl::Milliseconds(100);

}  // namespace

void FenceWatch::Set(int64_t at_ns) {
  at_ns_ = at_ns;
  if (timer_ == 0) Arm();
}

void FenceWatch::Stop() { loop_->Cancel(std::exchange(timer_, 0)); }

// Checks the fence at the time when it should have taken effect, and not each time that it is
// moved.
void FenceWatch::Arm() {
  const absl::Duration left = absl::Nanoseconds(at_ns_ - BootTimeNs()) + kSlack;
  timer_ = loop_->At(loop_->clock().Get().mono + left, [this] {
    timer_ = 0;
    if (absl::Nanoseconds(BootTimeNs() - at_ns_) < kSlack) return Arm();
    // This process may have stood still. So it first hears what the supervisor has said meanwhile.
    timer_ = loop_->At(loop_->clock().Get().mono + kHearing, [this] {
      timer_ = 0;
      passed_();
    });
  });
}

}  // namespace hpc::worker
