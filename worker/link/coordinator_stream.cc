#include "worker/link/coordinator_stream.h"

#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "common/clock.h"
#include "common/net/dial.h"
#include "common/pki/tls/probe.h"
#include "member/find_coordinator.h"
#include "worker/link/channel.h"

namespace hpc::worker {
namespace {

// Unacknowledged bytes end the connection after this long. Together with the heartbeat interval
// this is Connection::kDetection.
constexpr int kTransportTimeoutMs = 10'000;
// This only switches the transport's time-out on. Heartbeats are the real pings.
constexpr int kKeepaliveMs = 3'600'000;
constexpr int kConnectMs = 5'000;
// A Prepare carries the command: up to 10 MB of arguments and as much environment.
constexpr int kMaxMessageBytes = 64 << 20;

// How long the reason is looked for when a coordinator cannot be reached over TLS. Together with
// kConnectMs and kKnockTime it is no more than Connection::kConnectTimeout.
constexpr absl::Duration kProbeTime = absl::Seconds(2);
constexpr absl::Duration kKnockTime = absl::Seconds(3);

// This many small messages are as long as one large message.
constexpr int kMostSentAlong = 30;
constexpr size_t kSmallData = 8 << 10;
constexpr int kFewPoints = 100;

bool IsSmall(const v1::WorkerMessage& message) {
  return message.log_data().data().size() <= kSmallData &&
         message.metric_data().points_size() <= kFewPoints;
}

absl::StatusOr<std::vector<pki::Certificate>> Probe(const Endpoint& endpoint) {
  return pki::FetchCertificates(endpoint, kProbeTime);
}

absl::Status FromGrpc(const grpc::Status& status) {
  const std::string message = status.error_message();
  absl::string_view words = message;
  // gRPC wraps the reason: "ipv4:10.0.0.1:7077: Failed to connect to remote host: ...".
  absl::ConsumePrefix(&words, "failed to connect to all addresses; last error: ");
  absl::ConsumePrefix(&words, "UNKNOWN: ");
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), words);
}

}  // namespace

std::shared_ptr<grpc::Channel> MakeCoordinatorChannel(const Endpoint& endpoint,
                                                      const member::Security& security) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kTransportTimeoutMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectMs);
  // This probe would measure the bandwidth after each message that arrives. Few messages arrive,
  // and none is long.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetMaxSendMessageSize(kMaxMessageBytes);
  return MakeChannel(endpoint, security, arguments);
}

void CoordinatorStream::Start(v1::WorkerMessage hello) {
  std::lock_guard<std::mutex> lock(mutex_);
  control_.push_back(std::move(hello));
  writing_ = true;  // until the call has begun
  // Runs at once: what is due now would wait for one of gRPC's timers, which may be a second late
  // here.
  turn_.Set(queue_, gpr_inf_past(GPR_CLOCK_MONOTONIC), Tag(&CoordinatorStream::OnTurn));
}

void CoordinatorStream::Send(v1::WorkerMessage message, bool bulk) {
  std::lock_guard<std::mutex> lock(mutex_);
  (bulk ? bulk_ : control_).push_back(std::move(message));
}

void CoordinatorStream::Flush() {
  std::lock_guard<std::mutex> lock(mutex_);
  WriteNext();
}

void CoordinatorStream::Finish() {
  std::lock_guard<std::mutex> lock(mutex_);
  half_close_ = true;
  WriteNext();
}

void CoordinatorStream::Run(void* tag, bool ok) {
  const std::unique_ptr<Step> step(static_cast<Step*>(tag));
  (step->stream.get()->*step->method)(ok);
}

// Knocks first. gRPC spends milliseconds on a channel, most of them on its keys, before it finds
// out that nobody listens. While a coordinator is away, that would be most of what its workers do.
void CoordinatorStream::OnTurn(bool) {
  if (const absl::Status found = Knock(); !found.ok()) return handlers_.on_closed(found);
  std::lock_guard<std::mutex> lock(mutex_);
  stub_ = v1::Worker::NewStub(
      way_.made != nullptr ? way_.made : MakeCoordinatorChannel(way_.endpoint, way_.security));
  call_ = stub_->PrepareAsyncConnect(&context_, queue_);
  call_->StartCall(Tag(&CoordinatorStream::OnStarted));
}

absl::Status CoordinatorStream::Knock() const {
  if (way_.endpoint.is_unix) return absl::OkStatus();
  const auto answered = Dial(way_.endpoint, RealClock().Get().mono + kKnockTime);
  return answered.ok() ? absl::OkStatus() : absl::UnavailableError(answered.status().message());
}

void CoordinatorStream::OnStarted(bool ok) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!ok) return End();
  call_->Read(&incoming_, Tag(&CoordinatorStream::OnRead));
  writing_ = false;
  WriteNext();
}

void CoordinatorStream::OnRead(bool ok) {
  if (ok) {
    if (!std::exchange(answered_, true)) handlers_.on_shown(ShownOn(context_));
    Hear(std::move(incoming_));
    incoming_.Clear();
    call_->Read(&incoming_, Tag(&CoordinatorStream::OnRead));
    return;
  }
  std::lock_guard<std::mutex> lock(mutex_);
  End();
}

void CoordinatorStream::Hear(v1::CoordinatorMessage message) {
  if (message.has_welcome()) {
    std::lock_guard<std::mutex> lock(mutex_);
    takes_more_ = message.welcome().takes_more();
  }
  google::protobuf::RepeatedPtrField<v1::CoordinatorMessage> more;
  more.Swap(message.mutable_more());
  handlers_.on_message(std::move(message));
  for (v1::CoordinatorMessage& one : more) handlers_.on_message(std::move(one));
}

void CoordinatorStream::OnWritten(bool ok) {
  std::lock_guard<std::mutex> lock(mutex_);
  // After a failed write the read fails, too, and tells why.
  if (!ok) return;
  writing_ = false;
  WriteNext();
}

void CoordinatorStream::OnFinished(bool) { handlers_.on_closed(Explained(FromGrpc(status_))); }

// gRPC's own words for a failed handshake tell nobody what to do.
absl::Status CoordinatorStream::Explained(const absl::Status& status) const {
  const bool tls = !way_.endpoint.is_unix && way_.security.is_tls();
  if (answered_ || !tls || !absl::IsUnavailable(status)) return status;
  absl::Status why =
      member::WhyNoTls(way_.endpoint, way_.security.authorities, RealClock().Get().wall, Probe);
  return why.ok() ? status : why;
}

void CoordinatorStream::WriteNext() {
  if (writing_ || ended_) return;
  std::deque<v1::WorkerMessage>& queue = control_.empty() ? bulk_ : control_;
  if (!queue.empty()) {
    writing_ = true;
    outgoing_ = std::move(queue.front());
    queue.pop_front();
    if (takes_more_) {
      SendAlong(&control_);
      SendAlong(&bulk_);
    }
    call_->Write(outgoing_, Tag(&CoordinatorStream::OnWritten));
  } else if (half_close_) {
    writing_ = true;
    call_->WritesDone(Tag(&CoordinatorStream::OnHalfClosed));
  }
}

void CoordinatorStream::SendAlong(std::deque<v1::WorkerMessage>* queue) {
  while (!queue->empty() && outgoing_.more_size() < kMostSentAlong && IsSmall(queue->front())) {
    *outgoing_.add_more() = std::move(queue->front());
    queue->pop_front();
  }
}

void CoordinatorStream::End() {
  if (ended_) return;
  ended_ = true;
  call_->Finish(&status_, Tag(&CoordinatorStream::OnFinished));
}

}  // namespace hpc::worker
