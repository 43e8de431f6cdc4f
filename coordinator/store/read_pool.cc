#include "coordinator/store/read_pool.h"

#include <utility>

namespace hpc::coordinator {

ReadPool::ReadPool(std::vector<std::unique_ptr<StoreReader>> readers, Post post)
    : readers_(std::move(readers)), post_(std::move(post)) {
  for (const std::unique_ptr<StoreReader>& reader : readers_) {
    threads_.emplace_back([this, raw = reader.get()] { Work(raw); });
  }
}

ReadPool::~ReadPool() { Stop(absl::UnavailableError("nothing is read any more")); }

void ReadPool::Start(Read read, Done done) {
  absl::Status refused;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    refused = stopped_;
    if (refused.ok()) tasks_.push_back({std::move(read), std::move(done)});
  }
  changed_.notify_one();
  if (!refused.ok()) {
    post_([done = std::move(done), refused = std::move(refused)] { done(refused); });
  }
}

void ReadPool::Stop(const absl::Status& why) {
  std::deque<Task> dropped;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!stopped_.ok()) return;
    stopped_ = why;
    dropped.swap(tasks_);
  }
  changed_.notify_all();
  for (Task& task : dropped) {
    post_([done = std::move(task.done), why] { done(why); });
  }
  for (std::thread& thread : threads_) thread.join();
}

bool ReadPool::Take(Task* task) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !tasks_.empty() || !stopped_.ok(); });
  if (tasks_.empty()) return false;
  *task = std::move(tasks_.front());
  tasks_.pop_front();
  return true;
}

void ReadPool::Work(StoreReader* reader) {
  for (Task task; Take(&task);) {
    absl::Status status = reader->InSnapshot([&] { return task.read(*reader); });
    // What `read` holds is gone before its end is told.
    task.read = nullptr;
    post_([done = std::move(task.done), status = std::move(status)] { done(status); });
  }
}

}  // namespace hpc::coordinator
