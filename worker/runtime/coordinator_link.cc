#include "worker/runtime/coordinator_link.h"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/strip.h"
#include "common/clock.h"
#include "common/dial.h"
#include "common/pki/probe.h"
#include "hpc/v1/worker.grpc.pb.h"
#include "member/channel.h"
#include "member/find_coordinator.h"
#include "worker/runtime/boot_time.h"
#include "worker/runtime/convert.h"

namespace hpc::worker {
namespace {

// Unacknowledged bytes end the connection after this long: with the heartbeat interval it is
// Connection::kDetection.
constexpr int kTransportTimeoutMs = 10'000;
// Only to switch the transport's time-out on: heartbeats are the real pings.
constexpr int kKeepaliveMs = 3'600'000;
constexpr int kConnectMs = 5'000;
// A Prepare carries the command: up to 10 MB of arguments and as much environment.
constexpr int kMaxMessageBytes = 64 << 20;

// Of a coordinator that cannot be reached over TLS; with kConnectMs and kKnockTime no more than
// Connection::kConnectTimeout.
constexpr absl::Duration kProbeTime = absl::Seconds(2);
constexpr absl::Duration kKnockTime = absl::Seconds(3);

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kTransportTimeoutMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return arguments;
}

absl::StatusOr<std::vector<pki::Certificate>> Probe(const Endpoint& endpoint) {
  return pki::FetchCertificates(endpoint, kProbeTime);
}

absl::Status FromGrpc(const grpc::Status& status) {
  const std::string message = status.error_message();
  absl::string_view words = message;
  // gRPC's wrapping of "ipv4:10.0.0.1:7077: Failed to connect to remote host: ...".
  absl::ConsumePrefix(&words, "failed to connect to all addresses; last error: ");
  absl::ConsumePrefix(&words, "UNKNOWN: ");
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), words);
}

// One connection. Lives until gRPC has given back everything it was handed.
class Stream : public std::enable_shared_from_this<Stream> {
 public:
  struct Handlers {
    // On the queue's thread.
    std::function<void(const std::string& certificates)> on_shown;  // before the first message
    std::function<void(v1::CoordinatorMessage)> on_message;
    std::function<void(const absl::Status&)> on_closed;
  };

  Stream(const Endpoint& endpoint, const member::Security& security, grpc::CompletionQueue* queue,
         Handlers handlers)
      : endpoint_(endpoint), security_(security), queue_(queue), handlers_(std::move(handlers)) {}

  void Start(v1::WorkerMessage hello) {
    std::lock_guard<std::mutex> lock(mutex_);
    control_.push_back(std::move(hello));
    writing_ = true;  // until the call has begun
    turn_.Set(queue_, gpr_now(GPR_CLOCK_MONOTONIC), Tag(&Stream::OnTurn));
  }

  void Send(v1::WorkerMessage message, bool bulk) {
    std::lock_guard<std::mutex> lock(mutex_);
    (bulk ? bulk_ : control_).push_back(std::move(message));
    WriteNext();
  }

  void Finish() {
    std::lock_guard<std::mutex> lock(mutex_);
    half_close_ = true;
    WriteNext();
  }

  void Cancel() { context_.TryCancel(); }

  // What gRPC hands back: a step of one stream, which it keeps alive until then.
  struct Step {
    std::shared_ptr<Stream> stream;
    void (Stream::*method)(bool ok);
  };
  static void Run(void* tag, bool ok) {
    const std::unique_ptr<Step> step(static_cast<Step*>(tag));
    (step->stream.get()->*step->method)(ok);
  }

 private:
  void* Tag(void (Stream::*method)(bool)) { return new Step{shared_from_this(), method}; }

  // gRPC spends milliseconds on a channel, most of them on its keys, before it finds out that
  // nobody listens. While a coordinator is away that would be most of what its workers do.
  void OnTurn(bool) {
    if (const absl::Status found = Knock(); !found.ok()) return handlers_.on_closed(found);
    std::lock_guard<std::mutex> lock(mutex_);
    stub_ = v1::Worker::NewStub(member::MakeChannel(endpoint_, security_, Arguments()));
    call_ = stub_->PrepareAsyncConnect(&context_, queue_);
    call_->StartCall(Tag(&Stream::OnStarted));
  }

  absl::Status Knock() const {
    if (endpoint_.is_unix) return absl::OkStatus();
    const auto answered = Dial(endpoint_, RealClock().Get().mono + kKnockTime);
    return answered.ok() ? absl::OkStatus() : absl::UnavailableError(answered.status().message());
  }

  void OnStarted(bool ok) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!ok) return End();
    call_->Read(&incoming_, Tag(&Stream::OnRead));
    writing_ = false;
    WriteNext();
  }

  void OnRead(bool ok) {
    if (ok) {
      if (!std::exchange(answered_, true)) handlers_.on_shown(member::ShownOn(context_));
      handlers_.on_message(std::move(incoming_));
      incoming_.Clear();
      call_->Read(&incoming_, Tag(&Stream::OnRead));
      return;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    End();
  }

  void OnWritten(bool ok) {
    std::lock_guard<std::mutex> lock(mutex_);
    // After a failed write the read fails too, and tells why.
    if (!ok) return;
    writing_ = false;
    WriteNext();
  }

  // Still "writing": nothing may follow.
  void OnHalfClosed(bool) {}

  void OnFinished(bool) { handlers_.on_closed(Explained(FromGrpc(status_))); }

  // gRPC's words for a failed handshake tell nobody what to do.
  absl::Status Explained(const absl::Status& status) const {
    const bool tls = !endpoint_.is_unix && security_.is_tls();
    if (answered_ || !tls || !absl::IsUnavailable(status)) return status;
    absl::Status why =
        member::WhyNoTls(endpoint_, security_.authorities, RealClock().Get().wall, Probe);
    return why.ok() ? status : why;
  }

  // ---- with the lock held
  void WriteNext() {
    if (writing_ || ended_) return;
    std::deque<v1::WorkerMessage>& queue = control_.empty() ? bulk_ : control_;
    if (!queue.empty()) {
      writing_ = true;
      outgoing_ = std::move(queue.front());
      queue.pop_front();
      call_->Write(outgoing_, Tag(&Stream::OnWritten));
    } else if (half_close_) {
      writing_ = true;
      call_->WritesDone(Tag(&Stream::OnHalfClosed));
    }
  }
  void End() {
    if (ended_) return;
    ended_ = true;
    call_->Finish(&status_, Tag(&Stream::OnFinished));
  }

  const Endpoint endpoint_;
  const member::Security security_;
  grpc::CompletionQueue* const queue_;
  const Handlers handlers_;
  grpc::Alarm turn_;
  std::unique_ptr<v1::Worker::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>> call_;
  v1::CoordinatorMessage incoming_;
  bool answered_ = false;
  grpc::Status status_;

  std::mutex mutex_;
  std::deque<v1::WorkerMessage> control_;
  std::deque<v1::WorkerMessage> bulk_;
  v1::WorkerMessage outgoing_;
  bool writing_ = false;
  bool half_close_ = false;
  bool ended_ = false;
};

// How many streams gRPC has not finished with.
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
    // A queue that is shut down takes no further steps of a stream.
    unfinished_.WaitForNone();
    queue_.Shutdown();
    thread_.join();
  }

  void SetCallbacks(Callbacks callbacks) override { callbacks_ = std::move(callbacks); }

  void Open(const Identity& identity, const Hello& hello, const Inventory& inventory) override {
    Close();
    const uint64_t number = *current_;
    // The loop may have turned to another stream, or be gone, when something is posted: the number
    // says for which stream it was meant.
    auto post = [loop = loop_, number, current = current_](std::function<void()> work) {
      loop->Post([number, current, work = std::move(work)] {
        if (*current == number) work();
      });
    };
    Stream::Handlers handlers;
    handlers.on_shown = [this, post](const std::string& certificates) {
      post([this, certificates] { route_->set_shown(certificates); });
    };
    handlers.on_message = [this, post](v1::CoordinatorMessage message) {
      if (auto converted = FromProto(message)) {
        post([this, converted = *std::move(converted)] { callbacks_.on_message(converted); });
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
    stream_ =
        std::make_shared<Stream>(route_->next(), route_->security(), &queue_, std::move(handlers));
    stream_->Start(HelloToProto(identity, hello, inventory));
  }

  void Send(const WorkerMessage& message) override {
    const bool bulk =
        std::holds_alternative<LogData>(message) || std::holds_alternative<LogEnd>(message);
    if (stream_ != nullptr) stream_->Send(ToProto(message), bulk);
  }

  void SendHeartbeat(const std::vector<DeviceUsage>& usage,
                     const std::vector<RankDoing>& doing) override {
    if (stream_ == nullptr) return;
    v1::WorkerMessage message = HeartbeatToProto(usage, doing);
    message.mutable_heartbeat()->set_sent_us(BootTimeNs() / 1000);
    stream_->Send(std::move(message), false);
  }

  void SendInventory(const Inventory& inventory) override {
    if (stream_ != nullptr) stream_->Send(InventoryToProto(inventory), false);
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
  void Serve() {
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) Stream::Run(tag, ok);
  }

  EventLoop* const loop_;
  Route* const route_;
  Callbacks callbacks_;
  // Touched on the loop only.
  const std::shared_ptr<uint64_t> current_ = std::make_shared<uint64_t>(0);
  std::shared_ptr<Stream> stream_;
  Counter unfinished_;
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Link> MakeCoordinatorLink(EventLoop* loop, Route* route) {
  return std::make_unique<CoordinatorLink>(loop, route);
}

}  // namespace hpc::worker
