#include "train/testing/host_stream.h"

#include <atomic>
#include <stdexcept>

namespace hpc::train {
namespace {

class HostMark : public StreamMark {
 public:
  explicit HostMark(std::shared_ptr<std::atomic<bool>> failed) : failed_(std::move(failed)) {}

  void Reach() {
    std::lock_guard lock(mutex_);
    reached_ = true;
    changed_.notify_all();
  }

  bool Done() override {
    if (*failed_) throw std::runtime_error("the device is gone");
    std::lock_guard lock(mutex_);
    return reached_;
  }
  bool LetCurrentFollow(std::chrono::milliseconds limit) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return reached_; });
  }
  bool IsOfCurrent() const override { return true; }  // the calling thread itself has waited

 private:
  const std::shared_ptr<std::atomic<bool>> failed_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false;
};

}  // namespace

HostStream::HostStream() : thread_([this] { Run(); }) {
  native_.self = this;
  native_.enqueue = [](FakeStream* stream, void (*run)(void*), void* argument) {
    static_cast<Native*>(stream)->self->Add([=] { run(argument); });
  };
}

HostStream::~HostStream() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

std::shared_ptr<StreamMark> HostStream::Mark() {
  auto mark = std::make_shared<HostMark>(failed_);
  Add([mark] { mark->Reach(); });
  return mark;
}

void HostStream::Add(std::function<void()> run) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(run));
  changed_.notify_all();
}

void HostStream::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const std::function<void()> run = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    run();
    lock.lock();
  }
}

}  // namespace hpc::train
