// Turns SIGTERM and SIGINT into a call. The call is made on a thread of its own, so it may do what
// a signal handler must not do.
#ifndef HPC_COORDINATOR_STOP_SIGNAL_H_
#define HPC_COORDINATOR_STOP_SIGNAL_H_

#include <atomic>
#include <functional>
#include <thread>

namespace hpc::coordinator {

// Blocks both signals in every thread that is started later. Must be called before any other thread
// runs.
void BlockStopSignals();

class StopSignal {
 public:
  // `on_signal` is called once for the first signal.
  explicit StopSignal(std::function<void()> on_signal);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

 private:
  void Wait();

  const std::function<void()> on_signal_;
  std::atomic<bool> quit_ = false;
  std::thread thread_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STOP_SIGNAL_H_
