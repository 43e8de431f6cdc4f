#include "worker/link/quiet_engine.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"

namespace hpc::worker {
namespace {

using grpc_event_engine::experimental::EndpointConfig;
using grpc_event_engine::experimental::EventEngine;
using grpc_event_engine::experimental::MemoryAllocator;
using grpc_event_engine::experimental::MemoryAllocatorFactory;
using Clock = std::chrono::steady_clock;
using Work = absl::AnyInvocable<void()>;

// The time when it is due, and its number, which makes every key different.
using Key = std::pair<Clock::time_point, int64_t>;

// Work in the order of its times, for the one thread that does it.
class Schedule {
 public:
  Key Add(Clock::time_point due, Work work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Key key{due, ++last_};
    waiting_.emplace(key, std::move(work));
    if (waiting_.begin()->first == key) changed_.notify_one();
    return key;
  }

  bool Remove(const Key& key) {
    // Destroyed after the lock is released, since what the work holds may come back here.
    decltype(waiting_)::node_type removed;
    const std::lock_guard<std::mutex> lock(mutex_);
    removed = waiting_.extract(key);
    return !removed.empty();
  }

  void Stop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }

  bool IsServedHere() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return server_ == std::this_thread::get_id();
  }

  void Serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    server_ = std::this_thread::get_id();
    while (!stopping_) {
      if (waiting_.empty()) {
        changed_.wait(lock);
      } else if (const auto due = waiting_.begin()->first.first; due > Clock::now()) {
        changed_.wait_until(lock, due);
      } else {
        auto next = waiting_.extract(waiting_.begin());
        lock.unlock();
        next.mapped()();
        next = {};
        lock.lock();
      }
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Work> waiting_;
  int64_t last_ = 0;
  bool stopping_ = false;
  std::thread::id server_;
};

absl::Status NotHere() { return absl::UnimplementedError("the quiet engine only runs closures"); }

class QuietEngine : public EventEngine {
 public:
  ~QuietEngine() override {
    schedule_->Stop();
    if (schedule_->IsServedHere()) {
      thread_.detach();  // the engine was released by work that it ran itself
    } else if (thread_.joinable()) {
      thread_.join();
    }
  }

  void Run(Closure* closure) override { RunAfter(Duration::zero(), closure); }
  void Run(Work work) override { RunAfter(Duration::zero(), std::move(work)); }

  TaskHandle RunAfter(Duration when, Closure* closure) override {
    return RunAfter(when, Work([closure] { closure->Run(); }));
  }

  TaskHandle RunAfter(Duration when, Work work) override {
    const Key key = schedule_->Add(Clock::now() + when, std::move(work));
    std::call_once(
        started_, [this] { thread_ = std::thread([schedule = schedule_] { schedule->Serve(); }); });
    return {{key.first.time_since_epoch().count(), key.second}};
  }

  bool Cancel(TaskHandle handle) override {
    return schedule_->Remove({Clock::time_point(Clock::duration(handle.keys[0])), handle.keys[1]});
  }

  bool IsWorkerThread() override { return schedule_->IsServedHere(); }

  absl::StatusOr<std::unique_ptr<Listener>> CreateListener(
      Listener::AcceptCallback, absl::AnyInvocable<void(absl::Status)>, const EndpointConfig&,
      std::unique_ptr<MemoryAllocatorFactory>) override {
    return NotHere();
  }
  ConnectionHandle Connect(OnConnectCallback on_connect, const ResolvedAddress&,
                           const EndpointConfig&, MemoryAllocator, Duration) override {
    Run([on_connect = std::move(on_connect)]() mutable { on_connect(NotHere()); });
    return {};
  }
  bool CancelConnect(ConnectionHandle) override { return false; }
  std::unique_ptr<DNSResolver> GetDNSResolver(const DNSResolver::ResolverOptions&) override {
    return nullptr;
  }

 private:
  const std::shared_ptr<Schedule> schedule_ = std::make_shared<Schedule>();
  std::once_flag started_;
  std::thread thread_;
};

}  // namespace

void UseQuietEngine() { grpc_event_engine::experimental::SetEventEngineFactory(&MakeQuietEngine); }

std::unique_ptr<EventEngine> MakeQuietEngine() { return std::make_unique<QuietEngine>(); }

}  // namespace hpc::worker
