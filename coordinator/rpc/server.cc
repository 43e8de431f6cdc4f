#include "coordinator/rpc/server.h"

#include <grpc/support/log.h>
#include <grpcpp/alarm.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "coordinator/rpc/call_host.h"
#include "coordinator/rpc/limits.h"
#include "coordinator/rpc/listen.h"
#include "coordinator/rpc/methods.h"
#include "coordinator/rpc/tag.h"

namespace hpc::coordinator {
namespace {

// A round takes at most so many events before it commits, so that answers are not put off for ever.
constexpr int kEventsPerRound = 1000;
constexpr int kKeepaliveMs = 60'000;

gpr_timespec InFuture(absl::Duration wait) {
  if (wait == absl::InfiniteDuration()) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const int64_t ns = std::max<int64_t>(0, absl::ToInt64Nanoseconds(wait));
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(ns, GPR_TIMESPAN));
}

void OnGrpcLog(gpr_log_func_args* args) {
  LogDebug("grpc", {{"message", args->message}, {"file", args->file}, {"line", args->line}});
}

// Once per process, before anything else of gRPC.
void InitGrpc() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function(&OnGrpcLog);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

void Configure(grpc::ServerBuilder* builder) {
  // Two coordinators must never share a port.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // Finds peers that vanished without a word; leases find workers much sooner.
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->SetMaxReceiveMessageSize(kMaxMessage);
  builder->SetMaxSendMessageSize(-1);
  // Threads of gRPC's own serve nothing but reflection.
  builder->SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder->SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder->SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 1);
  builder->SetSyncServerOption(grpc::ServerBuilder::CQ_TIMEOUT_MSEC, 3'600'000);
}

}  // namespace

class Server::Impl {
 public:
  Impl(const ServerOptions& options, Engine* engine)
      : options_(options),
        engine_(engine),
        methods_(engine, options.state_dir),
        stop_tag_(this, &Impl::OnStopRequested) {}
  ~Impl() { ShutDown(); }

  absl::Status Start();
  absl::Status Run(const std::function<void()>& on_progress, absl::Duration max_idle);
  void RequestStop();
  const std::string& address() const { return address_; }

 private:
  void OnStopRequested(bool) { stopping_ = true; }
  // Handles events until none is left; waits for the first one at most so long.
  void TakeEvents(absl::Duration wait);
  bool TakeEvent(gpr_timespec deadline);
  void EndCalls(const absl::Status& reason);
  void ShutDown();

  const ServerOptions options_;
  Engine* const engine_;
  Methods methods_;
  CallHost host_;
  std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
  bool stopping_ = false;

  std::mutex stop_mutex_;
  bool can_stop_ = false;  // it serves, and has not been asked to stop; under stop_mutex_
  grpc::Alarm alarm_;
  MemberTag<Impl> stop_tag_;
};

void Server::Impl::RequestStop() {
  const std::lock_guard lock(stop_mutex_);
  if (!std::exchange(can_stop_, false)) return;
  alarm_.Set(queue_.get(), gpr_now(GPR_CLOCK_MONOTONIC), &stop_tag_);
}

absl::Status Server::Impl::Start() {
  InitGrpc();
  grpc::ServerBuilder builder;
  Configure(&builder);
  int port = 0;
  if (options_.listen) {
    HPC_RETURN_IF_ERROR(CheckCanListen(*options_.listen));
    builder.AddListeningPort(options_.listen->ToString(), grpc::InsecureServerCredentials(), &port);
  }
  if (!options_.socket.empty()) {
    HPC_RETURN_IF_ERROR(CheckSocketPath(options_.socket));
    builder.AddListeningPort(absl::StrCat("unix:", options_.socket),
                             grpc::InsecureServerCredentials());
  }
  methods_.Register(&builder);
  queue_ = builder.AddCompletionQueue();
  const mode_t mask = umask(0117);  // the socket is 0660 from its first moment
  server_ = builder.BuildAndStart();
  umask(mask);
  if (server_ == nullptr) {
    if (options_.listen) HPC_RETURN_IF_ERROR(CheckCanListen(*options_.listen));
    return absl::UnavailableError(absl::StrCat("cannot listen on ", options_.socket));
  }
  if (options_.listen) {
    Endpoint bound = *options_.listen;
    bound.port = port;
    address_ = bound.ToString();
  }
  host_.queue = queue_.get();
  methods_.Accept(&host_);
  can_stop_ = true;
  return absl::OkStatus();
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

absl::Status Server::Impl::Run(const std::function<void()>& on_progress, absl::Duration max_idle) {
  absl::Status status = engine_->Flush();
  while (status.ok() && !stopping_) {
    TakeEvents(std::min(max_idle, engine_->NextDeadline() - engine_->now().mono));
    status = engine_->Flush();
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
  const std::set<OpenCall*> open = host_.open;
  for (OpenCall* call : open) call->Stop(reason);
  const MonoTime deadline = engine_->now().mono + options_.stop_grace;
  while (!host_.open.empty() && engine_->now().mono < deadline) {
    TakeEvents(deadline - engine_->now().mono);
    // Answers that are owed; if nothing can be written any more they have had that answer.
    engine_->Flush().IgnoreError();
  }
}

void Server::Impl::ShutDown() {
  if (queue_ == nullptr) return;
  {
    const std::lock_guard lock(stop_mutex_);
    can_stop_ = false;
  }
  if (server_ != nullptr) {
    // Waits for calls to be let go of, which the queue's owner has to do: this thread.
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
