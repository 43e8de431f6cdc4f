#include "client/connection.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/discovery.h"
#include "common/random_number.h"
#include "common/status_macros.h"
#include "member/channel.h"

namespace hpc::client {
namespace {

constexpr absl::Duration kConnectTime = absl::Seconds(5);
constexpr absl::Duration kFirstRetry = absl::Milliseconds(50);
constexpr absl::Duration kLongestRetry = absl::Seconds(2);
// How soon an interrupt is noticed while the coordinator is away.
constexpr std::chrono::milliseconds kWaitStep{100};

grpc::ChannelArguments ChannelArguments() {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(-1);  // a run may hold 10 MB of arguments
  args.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
              static_cast<int>(absl::ToInt64Milliseconds(kConnectTime)));
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  // Notices a master that lost its power while we only listen.
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return args;
}

absl::Status ToStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

// The connection broke, or the coordinator is stopping: the same call may succeed later.
bool IsAway(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::CANCELLED ||
         (status.error_code() == grpc::StatusCode::UNKNOWN &&
          absl::StrContains(status.error_message(), "Stream removed"));
}

}  // namespace

Connection::Connection(const Endpoint& endpoint, const member::Security& security)
    : endpoint_(endpoint),
      security_(security),
      backoff_(kFirstRetry, kLongestRetry),
      random_(static_cast<std::mt19937::result_type>(RandomNumber())) {}

Connection::~Connection() = default;

absl::StatusOr<std::unique_ptr<Connection>> Connection::Open(const Endpoint& endpoint,
                                                             const member::Security& security,
                                                             absl::FunctionRef<void()> meanwhile) {
  std::unique_ptr<Connection> connection(new Connection(endpoint, security));
  const MonoTime deadline = RealClock().Get().mono + kConnectTime;
  const bool ready = connection->BeginConnecting(deadline);
  meanwhile();
  if (!ready && !connection->WaitUntilReady(deadline)) return WhyUnreachable(endpoint, security);
  return connection;
}

bool Connection::BeginConnecting(MonoTime deadline) {
  if (endpoint_.is_unix) {
    local_ = member::MakeLocalChannel(endpoint_.path, deadline, ChannelArguments());
  }
  if (local_.channel != nullptr) return true;
  LeaveLocalChannel();
  channel()->GetState(true);
  return false;
}

bool Connection::WaitUntilReady(MonoTime deadline) const {
  const std::shared_ptr<grpc::Channel> channel = this->channel();
  const auto until = std::chrono::system_clock::now() +
                     absl::ToChronoMilliseconds(deadline - RealClock().Get().mono);
  for (auto state = channel->GetState(true); state != GRPC_CHANNEL_READY;
       state = channel->GetState(true)) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN ||
        !channel->WaitForStateChange(state, until)) {
      return false;
    }
  }
  return true;
}

void Connection::LeaveLocalChannel() {
  absl::MutexLock lock(&mutex_);
  if (channel_ == nullptr) {
    channel_ = member::MakeChannel(endpoint_, security_, ChannelArguments());
  }
}

std::shared_ptr<grpc::Channel> Connection::channel() const {
  absl::MutexLock lock(&mutex_);
  return channel_ == nullptr ? local_.channel : channel_;
}

absl::Status Connection::Begin(grpc::ClientContext* context) {
  if (local_.channel != nullptr && local_.Ended()) LeaveLocalChannel();
  absl::MutexLock lock(&mutex_);
  if (interrupted_) return absl::CancelledError("interrupted");
  active_.push_back(context);
  return absl::OkStatus();
}

void Connection::End(grpc::ClientContext* context) {
  absl::MutexLock lock(&mutex_);
  active_.erase(std::find(active_.begin(), active_.end(), context));
  if (shown_.empty()) shown_ = member::ShownOn(*context);
}

std::string Connection::shown() const {
  absl::MutexLock lock(&mutex_);
  return shown_;
}

bool Connection::interrupted() const {
  absl::MutexLock lock(&mutex_);
  return interrupted_;
}

absl::Status Connection::Once(Call call) {
  grpc::ClientContext context;
  HPC_RETURN_IF_ERROR(Begin(&context));
  const grpc::Status status = call(&context);
  End(&context);
  if (interrupted()) return absl::CancelledError("interrupted");
  if (!IsAway(status)) return ToStatus(status);
  LeaveLocalChannel();
  return absl::UnavailableError(absl::StrCat("the coordinator at ", endpoint_.ToString(),
                                             " went away before it answered (",
                                             status.error_message(), "). Try again"));
}

absl::Status Connection::Resume(Call call) {
  while (true) {
    grpc::ClientContext context;
    HPC_RETURN_IF_ERROR(Begin(&context));
    const grpc::Status status = call(&context);
    End(&context);
    if (interrupted()) return absl::CancelledError("interrupted");
    if (!IsAway(status)) {
      Progressed();
      return ToStatus(status);
    }
    LeaveLocalChannel();
    if (!WaitBeforeRetry()) return absl::CancelledError("interrupted");
  }
}

void Connection::Progressed() {
  absl::MutexLock lock(&mutex_);
  away_ = false;
  backoff_.Reset();
}

bool Connection::WaitBeforeRetry() {
  bool first = false;
  {
    absl::MutexLock lock(&mutex_);
    first = !std::exchange(away_, true);
  }
  if (first && notice_) notice_();
  const std::shared_ptr<grpc::Channel> channel = this->channel();
  const auto until = std::chrono::steady_clock::now() + absl::ToChronoMilliseconds(NextPause());
  while (!interrupted()) {
    const grpc_connectivity_state state = channel->GetState(true);
    if (state == GRPC_CHANNEL_READY && std::chrono::steady_clock::now() >= until) return true;
    // It is this wait that lets gRPC work on a new connection: nobody else does while no call is
    // made, and a handshake of TLS needs several steps.
    channel->WaitForStateChange(state, std::chrono::system_clock::now() + kWaitStep);
  }
  return false;
}

absl::Duration Connection::NextPause() {
  absl::MutexLock lock(&mutex_);
  return backoff_.Next(std::uniform_real_distribution<double>()(random_));
}

void Connection::Interrupt() {
  absl::MutexLock lock(&mutex_);
  interrupted_ = true;
  for (grpc::ClientContext* context : active_) context->TryCancel();
}

}  // namespace hpc::client
