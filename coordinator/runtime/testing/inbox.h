// What other threads have left to the owner's thread. Tests only.
#ifndef HPC_COORDINATOR_RUNTIME_TESTING_INBOX_H_
#define HPC_COORDINATOR_RUNTIME_TESTING_INBOX_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

namespace hpc::coordinator::testing {

class Inbox {
 public:
  // A function for Engine::BeginReads. The inbox must outlive the threads.
  std::function<void(std::function<void()>)> post() {
    return [this](std::function<void()> work) {
      {
        std::lock_guard<std::mutex> lock(mutex_);
        work_.push_back(std::move(work));
      }
      changed_.notify_one();
    };
  }

  // Waits for the next piece of work, and does it.
  void TakeOne() {
    std::function<void()> work;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return !work_.empty(); });
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_RUNTIME_TESTING_INBOX_H_
