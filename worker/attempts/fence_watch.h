// Sees to it that a supervisor keeps to the fence of its attempt: root, or its own ranks, may have
// stopped it with a signal.
#ifndef HPC_WORKER_ATTEMPTS_FENCE_WATCH_H_
#define HPC_WORKER_ATTEMPTS_FENCE_WATCH_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "worker/loop/event_loop.h"

namespace hpc::worker {

class FenceWatch {
 public:
  // `passed` is called when the supervisor should have ended its ranks by the fence, and has not
  // said that it does.
  FenceWatch(EventLoop* loop, std::function<void()> passed)
      : loop_(loop), passed_(std::move(passed)) {}
  ~FenceWatch() { Stop(); }
  FenceWatch(const FenceWatch&) = delete;
  FenceWatch& operator=(const FenceWatch&) = delete;

  // The ranks may live until then, on CLOCK_BOOTTIME.
  void Set(int64_t at_ns);
  // The supervisor ends its ranks, or is gone.
  void Stop();

 private:
  void Arm();

  EventLoop* const loop_;
  const std::function<void()> passed_;
  int64_t at_ns_ = 0;
  EventLoop::TimerId timer_ = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_FENCE_WATCH_H_
