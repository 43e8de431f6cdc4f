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
    absl::MutexLock lock(&mutex_);
    refused = stopped_;
    if (refused.ok()) tasks_.push_back({std::move(read), std::move(done)});
  }
  if (!refused.ok()) {
    post_([done = std::move(done), refused = std::move(refused)] { done(refused); });
  }
}

void ReadPool::Stop(const absl::Status& why) {
  std::deque<Task> dropped;
  {
    absl::MutexLock lock(&mutex_);
    if (!stopped_.ok()) return;
    stopped_ = why;
    dropped.swap(tasks_);
  }
  for (Task& task : dropped) {
    post_([done = std::move(task.done), why] { done(why); });
  }
  for (std::thread& thread : threads_) thread.join();
}

bool ReadPool::Take(Task* task) {
  absl::MutexLock lock(&mutex_, absl::Condition(this, &ReadPool::HasNews));
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
