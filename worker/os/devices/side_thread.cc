#include "worker/os/devices/side_thread.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace hpc::worker {

// These are standard primitives rather than Abseil's. Their deadlines follow the steady clock, so
// setting the wall clock back does not turn a second of waiting into an hour.
struct SideThread::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> work;  // handed over and not yet taken
  bool busy = false;           // from the hand-over until it returns
  bool stop = false;
};

SideThread::SideThread() : shared_(std::make_shared<Shared>()) {
  // The thread is detached, since a thread inside a driver that hangs can never be joined.
  std::thread(&SideThread::Run, shared_).detach();
}

SideThread::~SideThread() {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->stop = true;
  shared_->changed.notify_all();
}

bool SideThread::Start(std::function<void()> work) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  if (shared_->busy) return false;
  shared_->busy = true;
  shared_->work = std::move(work);
  shared_->changed.notify_all();
  return true;
}

bool SideThread::WaitUntil(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  return shared_->changed.wait_until(lock, deadline, [this] { return !shared_->busy; });
}

void SideThread::Run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock<std::mutex> lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&shared] { return shared->stop || shared->work; });
    if (!shared->work) return;
    std::function<void()> work = std::exchange(shared->work, nullptr);
    lock.unlock();
    work();
    work = nullptr;  // frees what it owns before anyone learns that it has returned
    lock.lock();
    shared->busy = false;
    shared->changed.notify_all();
  }
}

}  // namespace hpc::worker
