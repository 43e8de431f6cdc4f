// What other threads have left to the owner's thread. Tests only.
#ifndef HPC_COORDINATOR_RUNTIME_TESTING_INBOX_H_
#define HPC_COORDINATOR_RUNTIME_TESTING_INBOX_H_

#include <deque>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace hpc::coordinator::testing {

class Inbox {
 public:
  // A function for Engine::BeginReads. The inbox must outlive the threads.
  std::function<void(std::function<void()>)> post() {
    return [this](std::function<void()> work) {
      absl::MutexLock lock(&mutex_);
      work_.push_back(std::move(work));
    };
  }

  // Waits for the next piece of work, and does it.
  void TakeOne() {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(this, &Inbox::HasWork));
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }

 private:
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !work_.empty(); }

  absl::Mutex mutex_;
  std::deque<std::function<void()>> work_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_RUNTIME_TESTING_INBOX_H_
