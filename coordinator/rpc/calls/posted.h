// Work that is posted to the loop's thread, for now or for later.
#ifndef HPC_COORDINATOR_RPC_CALLS_POSTED_H_
#define HPC_COORDINATOR_RPC_CALLS_POSTED_H_

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "coordinator/rpc/calls/tag.h"

namespace hpc::coordinator {

// Deletes itself when the work is done.
class Posted final : public Tag {
 public:
  // May be called from any thread, before the queue is shut down.
  static void To(grpc::CompletionQueue* queue, std::function<void()> work,
                 absl::Duration delay = absl::ZeroDuration()) {
    auto* const posted = new Posted(std::move(work));
    posted->alarm_.Set(queue, When(delay), posted);
  }
  // The time at which an alarm rings. An alarm for now avoids gRPC's timers. They stand still after
  // the wall clock was set back by much, since their thread sleeps until a time on that clock.
  static gpr_timespec When(absl::Duration delay) {
    if (delay <= absl::ZeroDuration()) return gpr_inf_past(GPR_CLOCK_MONOTONIC);
    const gpr_timespec wait = gpr_time_from_nanos(absl::ToInt64Nanoseconds(delay), GPR_TIMESPAN);
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), wait);
  }

  void Complete(bool ok) override {
    if (ok) work_();
    delete this;
  }

 private:
  explicit Posted(std::function<void()> work) : work_(std::move(work)) {}
  std::function<void()> work_;
  grpc::Alarm alarm_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CALLS_POSTED_H_
