// A thread for calls that may never return.
#ifndef HPC_WORKER_OS_DEVICES_SIDE_THREAD_H_
#define HPC_WORKER_OS_DEVICES_SIDE_THREAD_H_

#include <chrono>
#include <functional>
#include <memory>

namespace hpc::worker {

// Runs one piece of work at a time. Work that hangs holds up nobody but this object, not even its
// destructor: the thread is then left to itself, so `work` must own all it touches.
// For one caller's thread.
class SideThread {
 public:
  SideThread();
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // Hands `work` to the thread. False, and nothing is done, while earlier work has not returned.
  bool Start(std::function<void()> work);
  // Whether the work handed over last has returned; waits for it until `deadline`.
  bool WaitUntil(std::chrono::steady_clock::time_point deadline);

 private:
  struct Shared;
  static void Run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_OS_DEVICES_SIDE_THREAD_H_
