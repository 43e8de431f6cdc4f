// The thread that does all that touches a disk for a supervisor. A disk that hangs (frozen, dying,
// a network one) holds whoever writes to it for as long as it likes, against any signal; the
// supervisor itself must go on stopping its ranks meanwhile.
#ifndef HPC_WORKER_SUPERVISOR_OUTPUT_WRITER_THREAD_H_
#define HPC_WORKER_SUPERVISOR_OUTPUT_WRITER_THREAD_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "worker/supervisor/os/poller.h"

namespace hpc::worker {

// For the poller's thread. Does nothing while there is nothing to do.
class WriterThread {
 public:
  explicit WriterThread(Poller* poller);
  // Waits for no work: what has not begun is dropped, and one that hangs is left to itself, so that
  // `work` must own all it touches. No `done` is called any more.
  ~WriterThread();
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;

  // If it has not. The thread takes no signals. False: errno says why there is none.
  bool Start();

  // Runs `work` on the thread, in the order of the calls, and then `done` in a round of the poller.
  void Run(std::function<void()> work, std::function<void()> done = {});

  // Waits until all work is done, or until then (CLOCK_BOOTTIME). `done` of it is not called.
  bool WaitIdle(int64_t deadline_ns);
  // Where it is idle: calls no `done` of what it has done so far. The poller may have been cleared.
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
