// The thread that does everything that touches a disk for a supervisor. A disk that hangs (frozen,
// dying, or on a network) holds whoever writes to it for as long as it likes, whatever signal
// comes. Meanwhile the supervisor itself must go on stopping its ranks.
#ifndef HPC_WORKER_SUPERVISOR_OUTPUT_WRITER_THREAD_H_
#define HPC_WORKER_SUPERVISOR_OUTPUT_WRITER_THREAD_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "worker/supervisor/os/poller.h"

namespace hpc::worker {

// To be used from the poller's thread. The thread does nothing while there is nothing to do.
class WriterThread {
 public:
  explicit WriterThread(Poller* poller);
  // Waits for no work. Work that has not begun is dropped, and work that hangs is left to itself,
  // so `work` must own everything it touches. No `done` is called any more.
  ~WriterThread();
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;

  // Starts the thread if it has not been started. The thread takes no signals. False: errno says
  // why there is none.
  bool Start();

  // Runs `work` on the thread, in the order of the calls, and then `done` in a round of the poller.
  void Run(std::function<void()> work, std::function<void()> done = {});

  // Waits until all work is done, or until `deadline_ns` (CLOCK_BOOTTIME). Does not call its
  // `done`.
  bool WaitIdle(int64_t deadline_ns);
  // To be called when the thread is idle: drops each `done` of work finished so far. The poller may
  // have been cleared.
  void Forget();

 private:
  struct Shared;
  static void* Loop(void* shared);
  void OnDone();
  std::deque<std::function<void()>> TakeDone();

  Poller* poller_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OUTPUT_WRITER_THREAD_H_
