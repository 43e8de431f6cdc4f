#include "coordinator/rpc/server.h"

#include <grpc/support/log.h>
#include <grpcpp/alarm.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/pki/join_token.h"
#include "common/pki/tls/lean_provider.h"
#include "common/process/log.h"
#include "common/status_macros.h"
#include "coordinator/rpc/calls/call_host.h"
#include "coordinator/rpc/calls/posted.h"
#include "coordinator/rpc/calls/tag.h"
#include "coordinator/rpc/convert/limits.h"
#include "coordinator/rpc/doors/accept_loop.h"
#include "coordinator/rpc/doors/descriptors.h"
#include "coordinator/rpc/doors/doorman.h"
#include "coordinator/rpc/doors/guest_book.h"
#include "coordinator/rpc/doors/listen.h"
#include "coordinator/rpc/doors/own_addresses.h"
#include "coordinator/rpc/doors/peer_book.h"
#include "coordinator/rpc/doors/served_certificate.h"
#include "coordinator/rpc/methods.h"

namespace hpc::coordinator {
namespace {

// A round takes at most this many events before it commits, so that answers are not put off for
// ever.
constexpr int kEventsPerRound = 1000;
// A round may take this long, for example on a busy disk. Then everybody gets a quarter of that
// time to be heard, before the next round judges who has been silent.
constexpr absl::Duration kLongRound = absl::Milliseconds(500);
constexpr absl::Duration kLongestHearing = absl::Seconds(1);
// Limits the refusals at the Unix socket that are told. The key is the reason, which names the
// account.
constexpr RateLimit kToldRefusals = {.burst = 5, .each = absl::Seconds(12)};

gpr_timespec InFuture(absl::Duration wait) {
  if (wait == absl::InfiniteDuration()) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const int64_t ns = std::max<int64_t>(0, absl::ToInt64Nanoseconds(wait));
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(ns, GPR_TIMESPAN));
}

void OnGrpcLog(gpr_log_func_args* args) {
  // These are gRPC's last words, since the process aborts after them. Its other errors are about
  // peers.
  if (absl::StartsWith(args->message, "assertion failed")) {
    LogError("a bug in gRPC ends the daemon",
             {{"message", args->message}, {"file", args->file}, {"line", args->line}});
    return;
  }
  LogDebug("grpc", {{"message", args->message}, {"file", args->file}, {"line", args->line}});
}

// Done once per process, before anything else of gRPC.
void InitGrpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function(&OnGrpcLog);
    // gRPC 1.51 has no option for the lowest version of TLS. This list of suites applies to
    // versions below 1.3. Its only suite needs a secret that nobody has, so no such handshake
    // succeeds.
    setenv("GRPC_SSL_CIPHER_SUITES", "PSK-AES128-GCM-SHA256", 1);
    pki::UseLeanProvider();
  });
}

void Configure(grpc::ServerBuilder* builder) {
  // There are no pings. The kernel finds peers that vanished (accept_loop.cc), and it closes the
  // socket of a local peer that ends.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
  // Peers may ping.
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreams);
  builder->SetMaxReceiveMessageSize(kMaxMessage);
  builder->SetMaxSendMessageSize(-1);
}

}  // namespace

class Server::Impl {
 public:
  Impl(const ServerOptions& options, Engine* engine)
      : options_(options),
        engine_(engine),
        plan_(PlanDescriptors(DescriptorLimit())),
        peers_(PeerLimitsOf(plan_)),
        guests_(GuestLimitsOf(plan_)),
        doorman_(engine, options.trust, &peers_, &guests_, ConnectionsPerMember(plan_),
                 options.admin_group),
        doors_(plan_, &guests_),
        local_refusals_(kToldRefusals),
        stop_tag_(this, &Impl::OnStopRequested) {}
  ~Impl() { ShutDown(); }

  absl::Status Start();
  absl::Status Run(const std::function<void()>& on_progress, absl::Duration max_idle);
  void RequestStop();
  const std::string& address() const { return address_; }

 private:
  void OnStopRequested(bool) { stopping_ = true; }
  // Makes the coordinator's certificate: at the start, when it is due, and for a new authority.
  absl::Status KeepCertificate();
  Door TcpDoor(UniqueFd listener);
  Door UnixDoor(UniqueFd listener);
  // Handles events until none is left. Waits for the first one for `wait` at most.
  void TakeEvents(absl::Duration wait);
  // Handles the events that come within `time`.
  void Hear(absl::Duration time);
  // Calls Engine::Flush, which may take as long as the disk does.
  absl::Status Flush();
  bool TakeEvent(gpr_timespec deadline);
  void EndCalls(const absl::Status& reason);
  void ShutDown();

  const ServerOptions options_;
  Engine* const engine_;
  const DescriptorPlan plan_;
  PeerBook peers_;
  GuestBook guests_;
  Doorman doorman_;
  std::unique_ptr<Methods> methods_;
  CallHost host_;
  ServedCertificate certificate_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> tcp_;
  std::unique_ptr<grpc::Server> server_;
  AcceptLoop doors_;
  RateLimiter local_refusals_;  // limits what is told; only the accept loop's thread uses it
  std::string address_;
  absl::Time issued_at_ = absl::InfinitePast();  // of the coordinator's certificate
  absl::Time renew_at_ = absl::InfiniteFuture();
  bool stopping_ = false;

  std::mutex stop_mutex_;
  bool can_stop_ = false;  // it serves, and was not asked to stop; guarded by stop_mutex_
  grpc::Alarm alarm_;
  MemberTag<Impl> stop_tag_;
};

void Server::Impl::RequestStop() {
  const std::lock_guard lock(stop_mutex_);
  if (!std::exchange(can_stop_, false)) return;
  alarm_.Set(queue_.get(), Posted::When(absl::ZeroDuration()), &stop_tag_);
}

absl::Status Server::Impl::Start() {
  InitGrpc();
  grpc::ServerBuilder builder;
  Configure(&builder);
  MethodOptions method_options{options_.state_dir, {}};
  std::optional<TcpListener> tcp;
  if (options_.listen) {
    HPC_ASSIGN_OR_RETURN(tcp, ListenOn(*options_.listen));
    Endpoint bound = *options_.listen;
    bound.port = tcp->port;
    address_ = bound.ToString();
    method_options.addresses = OwnAddresses(bound, pki::kMaxTokenAddresses);
    HPC_RETURN_IF_ERROR(KeepCertificate());
    using Type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
    tcp_ = builder.experimental().AddExternalConnectionAcceptor(
        Type::FROM_FD,
        options_.trust != nullptr ? certificate_.Credentials() : grpc::InsecureServerCredentials());
  }
  UniqueFd local;
  if (!options_.socket.empty()) {
    HPC_ASSIGN_OR_RETURN(local, ListenAt(options_.socket));
  }
  methods_ = std::make_unique<Methods>(engine_, options_.trust, method_options);
  methods_->Register(&builder);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return absl::InternalError("gRPC does not start");
  HPC_RETURN_IF_ERROR(engine_->BeginReads(
      [queue = queue_.get()](std::function<void()> work) { Posted::To(queue, std::move(work)); }));
  host_.queue = queue_.get();
  host_.doorman = &doorman_;
  host_.issue_certificate = [this] { return KeepCertificate(); };
  methods_->Accept(&host_);
  if (tcp) doors_.Add(TcpDoor(std::move(tcp->fd)));
  if (local.ok()) doors_.Add(UnixDoor(std::move(local)));
  doors_.Start();
  can_stop_ = true;
  return absl::OkStatus();
}

absl::Status Server::Impl::KeepCertificate() {
  if (options_.trust == nullptr) return absl::OkStatus();
  const absl::Time now = engine_->now().wall;
  issued_at_ = now;
  renew_at_ = now + pki::kCoordinatorLifetime / 2;
  const pki::Keyring& keyring = options_.trust->keyring;
  HPC_RETURN_IF_ERROR(keyring.IssueCoordinator(now, pki::kCoordinatorLifetime));
  return certificate_.Load(keyring.coordinator_key_path(), keyring.coordinator_chain_path());
}

Door Server::Impl::TcpDoor(UniqueFd listener) {
  Door door;
  door.listener = std::move(listener);
  door.tls = options_.trust != nullptr;
  door.on_connection = [this](int listening, UniqueFd connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.listener_fd = listening;
    parameters.fd = connection.Release();
    tcp_->HandleNewConnection(&parameters);
  };
  door.on_refusal = [this](const std::string& address, const std::string& reason) {
    Posted::To(queue_.get(), [this, address, reason] { doorman_.NoteRefusal(address, reason); });
  };
  return door;
}

Door Server::Impl::UnixDoor(UniqueFd listener) {
  Door door;
  door.listener = std::move(listener);
  door.local = true;
  door.on_refusal = [this](const std::string&, const std::string& reason) {
    if (!local_refusals_.Allow(reason, RealClock().Get().mono)) return;
    LogWarning("a local connection is refused", {{"error", reason}});
    Posted::To(queue_.get(), [this, reason] { doorman_.NoteRefusal("this machine", reason); });
  };
  door.on_connection = [this, refuse = door.on_refusal](int, UniqueFd connection) {
    absl::StatusOr<UniqueFd> entered = peers_.Enter(std::move(connection));
    if (!entered.ok()) return refuse("", std::string(entered.status().message()));
    grpc::AddInsecureChannelFromFd(server_.get(), entered->Release());
  };
  return door;
}

bool Server::Impl::TakeEvent(gpr_timespec deadline) {
  void* tag = nullptr;
  bool ok = false;
  if (queue_->AsyncNext(&tag, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) return false;
  static_cast<Tag*>(tag)->Complete(ok);
  return true;
}

void Server::Impl::TakeEvents(absl::Duration wait) {
  if (!TakeEvent(InFuture(wait))) return;
  for (int i = 1; i < kEventsPerRound && TakeEvent(gpr_time_0(GPR_CLOCK_MONOTONIC)); ++i) {
  }
}

void Server::Impl::Hear(absl::Duration time) {
  const MonoTime until = engine_->now().mono + time;
  for (MonoTime now = engine_->now().mono; now < until; now = engine_->now().mono) {
    TakeEvent(InFuture(until - now));
  }
}

absl::Status Server::Impl::Flush() {
  const MonoTime begin = engine_->now().mono;
  const absl::Status status = engine_->Flush();
  host_.SendGathered();
  const absl::Duration took = engine_->now().mono - begin;
  if (status.ok() && took >= kLongRound) Hear(std::min(took / 4, kLongestHearing));
  return status;
}

absl::Status Server::Impl::Run(const std::function<void()>& on_progress, absl::Duration max_idle) {
  absl::Status status = Flush();
  while (status.ok() && !stopping_) {
    TakeEvents(std::min(max_idle, engine_->NextDeadline() - engine_->now().mono));
    // A certificate that was issued while the clock was ahead is not valid yet once the clock is
    // right again, so it is replaced.
    const absl::Time wall = engine_->now().wall;
    if (wall >= renew_at_ || wall < issued_at_) {
      if (absl::Status renewed = KeepCertificate(); !renewed.ok()) {
        LogError("cannot renew the coordinator's certificate", {{"error", renewed.message()}});
      }
    }
    status = Flush();
    on_progress();
  }
  EndCalls(status.ok()
               ? absl::UnavailableError("the coordinator stops")
               : absl::UnavailableError(absl::StrCat("the coordinator stops: ", status.message())));
  ShutDown();
  return status;
}

// Everybody is told, and given a moment to hear it.
void Server::Impl::EndCalls(const absl::Status& reason) {
  host_.stopping = reason;
  engine_->Shutdown(reason);
  engine_->Flush().IgnoreError();
  host_.SendGathered();
  host_.open.StopAll(reason);
  const MonoTime deadline = engine_->now().mono + options_.stop_grace;
  while ((!host_.open.empty() || engine_->reading()) && engine_->now().mono < deadline) {
    TakeEvents(deadline - engine_->now().mono);
    // Sends the answers that are owed. If nothing can be written any more, they have been answered
    // with that error.
    engine_->Flush().IgnoreError();
    host_.SendGathered();
  }
}

void Server::Impl::ShutDown() {
  if (queue_ == nullptr) return;
  doors_.Stop();
  // Their threads post to the queue. Whoever still waits for a read is answered below.
  engine_->EndReads(host_.stopping.ok() ? absl::UnavailableError("the coordinator stops")
                                        : host_.stopping);
  {
    const std::lock_guard lock(stop_mutex_);
    can_stop_ = false;
  }
  if (server_ != nullptr) {
    // Shutdown waits until all calls have been released. That is up to the queue's owner, which is
    // this thread.
    std::atomic<bool> down = false;
    std::thread waiter([this, &down] {
      server_->Shutdown(
          gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(100, GPR_TIMESPAN)));
      down = true;
    });
    while (!down) TakeEvent(InFuture(absl::Milliseconds(10)));
    waiter.join();
  }
  queue_->Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) static_cast<Tag*>(tag)->Complete(ok);
  if (!options_.socket.empty()) unlink(options_.socket.c_str());
  server_.reset();
  queue_.reset();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const ServerOptions& options,
                                                      Engine* engine) {
  auto impl = std::make_unique<Impl>(options, engine);
  HPC_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

const std::string& Server::address() const { return impl_->address(); }

absl::Status Server::Run(const std::function<void()>& on_progress, absl::Duration max_idle) {
  return impl_->Run(on_progress, max_idle);
}

void Server::RequestStop() { impl_->RequestStop(); }

}  // namespace hpc::coordinator
