#include "coordinator/rpc/handlers/worker_session.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/convert_node.h"
#include "coordinator/rpc/convert/convert_worker.h"
#include "coordinator/rpc/convert/limits.h"
#include "coordinator/rpc/convert/message_check.h"

namespace hpc::coordinator {

using v1::WorkerMessage;

namespace {

// A certificate is bound to a name, so another PC with that name must have a copy of the
// certificate.
absl::Status CopiedCertificate(const v1::Hello& hello, const absl::Status& status) {
  return absl::PermissionDeniedError(absl::StrCat(
      status.message(), ". Both show the certificate of ", hello.node(),
      ": the state directory was copied. Join with a token for another name (hpc-worker join); if "
      "nobody of you copied it, end it with 'hpcctl cert revoke ",
      hello.node(), "'"));
}

}  // namespace

absl::Status WorkerSession::Take(const Caller& caller, const WorkerMessage& message) {
  return session_ ? OnReport(message) : OnFirst(caller, message);
}

absl::Status WorkerSession::OnFirst(const Caller& caller, const WorkerMessage& message) {
  if (!message.has_hello()) {
    return absl::InvalidArgumentError("the first message of a worker must be its hello");
  }
  const v1::Hello& hello = message.hello();
  HPC_RETURN_IF_ERROR(CheckHello(hello));
  if (caller.own_only && hello.node() != caller.user) {
    return absl::PermissionDeniedError(
        absl::StrCat("this is the certificate of worker ", caller.user, ", not of ", hello.node()));
  }
  protocol::Hello said = FromProto(hello);
  if (const auto times = TimesOf(message)) said.said = times->said;
  const absl::Status status = engine_->OnHello(said, link_);
  if (absl::IsAlreadyExists(status) && caller.own_only) return CopiedCertificate(hello, status);
  HPC_RETURN_IF_ERROR(status);
  session_ = Session{hello.node(), hello.incarnation()};
  return absl::OkStatus();
}

absl::Status WorkerSession::OnReport(const WorkerMessage& message) {
  const Session& session = *session_;
  if (const auto times = TimesOf(message)) engine_->OnTimes(session, *times);
  if (message.has_heartbeat()) usage_->Update(session.node, message.heartbeat());
  if (const auto report = ReportOf(message)) return engine_->OnReport(session, *report);
  return OnOutput(message);
}

absl::Status WorkerSession::OnOutput(const WorkerMessage& message) {
  const Session& session = *session_;
  switch (message.message_case()) {
    case WorkerMessage::kEnvironment:
      return engine_->OnEnvironment(session, FromProto(message.environment()));
    case WorkerMessage::kLogData: {
      const v1::LogData& data = message.log_data();
      HPC_RETURN_IF_ERROR(CheckLogData(data));
      return engine_->OnLog(session, FromProto(data), data.offset(), data.data());
    }
    case WorkerMessage::kLogEnd:
      HPC_RETURN_IF_ERROR(CheckLogEnd(message.log_end()));
      return engine_->OnLogEnd(session, FromProto(message.log_end()),
                               message.log_end().cut_bytes());
    case WorkerMessage::kMetricData:
      return engine_->OnMetrics(session, FromProto(message.metric_data(), engine_->now().wall));
    case WorkerMessage::kHello:
      return absl::InvalidArgumentError("a second hello on one connection");
    default:
      // The message has a field of a later protocol version. It was added there, so it can be
      // ignored.
      return absl::OkStatus();
  }
}

void WorkerSession::Disconnect(bool reset) {
  if (!session_) return;
  const Session session = *std::exchange(session_, std::nullopt);
  usage_->Forget(session.node);
  engine_->OnDisconnect(session, reset);
}

void WorkerSession::Forget() {
  if (session_) usage_->Forget(session_->node);
  session_.reset();
}

}  // namespace hpc::coordinator
