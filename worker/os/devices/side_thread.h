// A thread for calls that may never return.
#ifndef HPC_WORKER_OS_DEVICES_SIDE_THREAD_H_
#define HPC_WORKER_OS_DEVICES_SIDE_THREAD_H_

#include <chrono>
#include <functional>
#include <memory>

namespace hpc::worker {

// Runs one piece of work at a time. Work that hangs holds up only this object, and not even its
// destructor: the thread is then left to itself. `work` must therefore own everything it touches.
// For use by one thread.
class SideThread {
 public:
  SideThread();
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // Hands `work` to the thread. Returns false and does nothing while earlier work has not returned.
  bool Start(std::function<void()> work);
  // Waits until `deadline` for the work handed over last. Returns whether it has returned.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline);

 private:
  struct Shared;
  static void Run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_DEVICES_SIDE_THREAD_H_
