// SIGTERM and SIGINT as a call, made on a thread of its own so that it may do what a signal handler
// must not.
#ifndef HPC_COORDINATOR_STOP_SIGNAL_H_
#define HPC_COORDINATOR_STOP_SIGNAL_H_

#include <atomic>
#include <functional>
#include <thread>

namespace hpc::coordinator {

// Keeps both signals from every thread that is started later. Call it before any other thread runs.
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
