#include "worker/loop/background.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace hpc::worker {
namespace {

constexpr std::chrono::seconds kPatience{2};

}  // namespace

struct Background::Shared {
  struct Job {
    std::function<void()> work;
    std::function<void()> done;
  };
  std::mutex mutex;
  std::condition_variable changed;
  EventLoop* loop = nullptr;  // null: the owner is gone; changed on the loop's thread only
  std::deque<Job> jobs;
  bool ended = false;
};

Background::Background(EventLoop* loop) : shared_(std::make_shared<Shared>()) {
  shared_->loop = loop;
  std::thread([shared = shared_] { Loop(shared); }).detach();
}

Background::~Background() {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  shared_->loop = nullptr;
  shared_->jobs.clear();
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kPatience, [this] { return shared_->ended; });
}

void Background::Run(std::function<void()> work, std::function<void()> done) {
  std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->jobs.push_back({std::move(work), std::move(done)});
  shared_->changed.notify_all();
}

void Background::Loop(const std::shared_ptr<Shared>& shared) {
  std::unique_lock<std::mutex> lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&] { return shared->loop == nullptr || !shared->jobs.empty(); });
    if (shared->loop == nullptr) break;
    Shared::Job job = std::move(shared->jobs.front());
    shared->jobs.pop_front();
    lock.unlock();
    job.work();
    job.work = nullptr;
    lock.lock();
    // This is posted under the lock, so the owner, and with it the loop, cannot go away meanwhile.
    if (shared->loop == nullptr) continue;
    shared->loop->Post([shared, done = std::move(job.done)] {
      if (shared->loop != nullptr) done();
    });
  }
  shared->ended = true;
  shared->changed.notify_all();
}

}  // namespace hpc::worker
