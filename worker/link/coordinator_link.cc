#include "worker/link/coordinator_link.h"

#include <grpcpp/completion_queue.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "worker/link/convert.h"
#include "worker/link/coordinator_stream.h"
#include "worker/loop/boot_time.h"

namespace hpc::worker {
namespace {

// Counts the streams that gRPC has not finished with.
class Counter {
 public:
  void Add() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
  }
  void Remove() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  void WaitForNone() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

class CoordinatorLink : public Link {
 public:
  CoordinatorLink(EventLoop* loop, Route* route)
      : loop_(loop), route_(route), thread_([this] { Serve(); }) {}

  ~CoordinatorLink() override {
    Close();
    // A queue that is shut down takes no further steps of a stream, so all streams must finish
    // first.
    unfinished_.WaitForNone();
    queue_.Shutdown();
    thread_.join();
  }

  void SetCallbacks(Callbacks callbacks) override { callbacks_ = std::move(callbacks); }

  void Open(const protocol::Hello& hello) override {
    Close();
    const uint64_t number = *current_;
    // When something is posted, the loop may have moved on to another stream, or be gone. The
    // number says for which stream it was meant.
    auto post = [loop = loop_, number, current = current_](std::function<void()> work) {
      loop->Post([number, current, work = std::move(work)] {
        if (*current == number) work();
      });
    };
    CoordinatorStream::Handlers handlers;
    handlers.on_shown = [this, post](const std::string& certificates) {
      post([this, certificates] { route_->set_shown(certificates); });
    };
    handlers.on_message = [this, post](v1::CoordinatorMessage message) {
      if (auto converted = FromProto(message)) {
        post([this, converted = *std::move(converted)] {
          if (const auto* heard = std::get_if<protocol::Heard>(&converted)) {
            times_.heard_us = absl::ToInt64Microseconds(heard->sent.since_zero);
            times_.heard_at_us = NowUs();
          }
          callbacks_.on_message(converted);
        });
      }
    };
    handlers.on_closed = [this, post](const absl::Status& status) {
      unfinished_.Remove();
      post([this, status] {
        stream_.reset();
        callbacks_.on_closed(status);
      });
    };
    unfinished_.Add();
    stream_ = std::make_shared<CoordinatorStream>(
        CoordinatorStream::Way{route_->next(), route_->security(), nullptr}, &queue_,
        std::move(handlers));
    times_ = {};
    stream_->Start(ToProto(hello));
  }

  void Send(const protocol::WorkerMessage& message, int64_t said_ns) override {
    const bool bulk = std::holds_alternative<protocol::LogData>(message) ||
                      std::holds_alternative<protocol::LogEnd>(message);
    if (stream_ == nullptr) return;
    v1::WorkerMessage out = ToProto(message);
    if (!bulk) out.set_said_us(said_ns / 1000);
    stream_->Send(std::move(out), bulk);
  }

  void SendHeartbeat(const std::vector<DeviceUsage>& usage, const protocol::Heartbeat& beat,
                     bool answer_may_wait) override {
    if (stream_ == nullptr) return;
    times_.sent_us = NowUs();
    stream_->Send(HeartbeatToProto(usage, beat, times_, answer_may_wait), false);
  }

  void SendInventory(const protocol::Inventory& inventory) override {
    if (stream_ != nullptr) stream_->Send(ToProto(inventory), false);
  }

  void Flush() override {
    if (stream_ != nullptr) stream_->Flush();
  }

  void Finish() override {
    if (stream_ != nullptr) stream_->Finish();
  }

  void Close() override {
    ++*current_;
    if (stream_ == nullptr) return;
    stream_->Cancel();
    stream_.reset();
  }

 private:
  // The clock by which the coordinator computes the age of reports.
  static int64_t NowUs() { return BootTimeNs() / 1000; }

  void Serve() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) CoordinatorStream::Run(tag, ok);
  }

  EventLoop* const loop_;
  Route* const route_;
  Callbacks callbacks_;
  // Used on the loop only.
  const std::shared_ptr<uint64_t> current_ = std::make_shared<uint64_t>(0);
  std::shared_ptr<CoordinatorStream> stream_;
  BeatTimes times_;
  Counter unfinished_;
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Link> MakeCoordinatorLink(EventLoop* loop, Route* route) {
  return std::make_unique<CoordinatorLink>(loop, route);
}

}  // namespace hpc::worker
