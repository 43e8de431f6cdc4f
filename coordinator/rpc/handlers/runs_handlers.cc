#include "coordinator/rpc/handlers/runs_handlers.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/core/policy/run_change.h"
#include "coordinator/rpc/answers/follow_source.h"
#include "coordinator/rpc/answers/list_sources.h"
#include "coordinator/rpc/answers/run_page.h"
#include "coordinator/rpc/answers/wait_source.h"
#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/convert_run.h"
#include "coordinator/rpc/convert/convert_spec.h"
#include "coordinator/rpc/convert/message_check.h"
#include "coordinator/rpc/handlers/submission.h"

namespace hpc::coordinator {
namespace {

absl::string_view HowItEnded(RunState state) {
  if (state == RunState::kCancelled) return "was cancelled";
  if (state == RunState::kTimedOut) return "met its time limit";
  return Name(state);
}

// Who may cancel or change a run.
absl::Status CheckIsTheirs(const Caller& caller, const RunRecord& run) {
  if (!caller.own_only || run.request.user == caller.user) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("run ", run.id, " is ", run.request.user, "'s; you are ", caller.user));
}

// A user may release what she holds, and not what an admin does.
absl::Status CheckMayRelease(const Caller& caller, const RunRecord& run,
                             const v1::ChangeRequest& request) {
  const bool releases = request.has_hold() && !request.hold() && !run.on_hold.empty();
  if (!releases || !caller.own_only || IsHeldBy(run, WhoIs(caller))) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("run ", run.id, " is ", run.on_hold, ", and you are ", caller.user,
                   ": who holds a run releases it, or an admin does"));
}

absl::StatusOr<v1::RunDetail> ReadRun(RunId run, StoreReader& reader) {
  HPC_RETURN_IF_ERROR(FindRunRow(reader, run).status());
  HPC_ASSIGN_OR_RETURN(const RunDetail detail, reader.GetRun(run));
  HPC_ASSIGN_OR_RETURN(const std::vector<MetricSummary> metrics, reader.SummarizeMetrics(run));
  v1::RunDetail out = ToProto(detail);
  for (const MetricSummary& metric : metrics) *out.add_metrics() = ToProto(metric);
  return out;
}

absl::StatusOr<v1::ListExperimentsResponse> ReadExperiments(StoreReader& reader) {
  HPC_ASSIGN_OR_RETURN(const std::vector<ExperimentRow> rows, reader.ListExperiments());
  v1::ListExperimentsResponse out;
  for (const ExperimentRow& row : rows) *out.add_experiments() = ToProto(row);
  return out;
}

}  // namespace

void RunsHandlers::Submit(const Caller& caller, const v1::SubmitRequest& request,
                          Reply<v1::SubmitResponse> reply) {
  SubmitRun(engine_, caller, request, [reply](const absl::StatusOr<RunId>& id) {
    if (!id.ok()) return reply(id.status());
    v1::SubmitResponse response;
    response.set_run(*id);
    reply(response);
  });
}

void RunsHandlers::Cancel(const Caller& caller, const v1::CancelRequest& request,
                          Reply<v1::CancelResponse> reply) {
  const RunId run = request.run();
  const RunRecord* const live = LiveRun(*engine_, run);
  if (live == nullptr) return Refuse(caller, run, std::move(reply));
  if (absl::Status status = CheckIsTheirs(caller, *live); !status.ok()) return reply(status);
  engine_->Cancel(run, {WhoIs(caller), request.interrupt()}, [reply](const absl::Status& status) {
    if (status.ok()) return reply(v1::CancelResponse());
    reply(status);
  });
}

void RunsHandlers::Change(const Caller& caller, const v1::ChangeRequest& request,
                          Reply<v1::ChangeResponse> reply) {
  const RunId run = request.run();
  const RunRecord* const live = LiveRun(*engine_, run);
  if (live == nullptr) return Refuse(caller, run, std::move(reply));
  absl::Status status = CheckIsTheirs(caller, *live);
  if (status.ok()) status = CheckMayRelease(caller, *live, request);
  if (status.ok()) status = CheckChange(request);
  if (status.ok() && request.has_priority()) {
    status = CheckPriority(caller.standing, request.priority(),
                           engine_->cluster().options().user_priority);
  }
  if (!status.ok()) return reply(status);
  RunChange change = ToRunChange(request);
  change.by = WhoIs(caller);
  engine_->ChangeRun(run, change, [reply](const absl::StatusOr<std::string>& changed) {
    if (!changed.ok()) return reply(changed.status());
    v1::ChangeResponse response;
    response.set_changed(*changed);
    reply(response);
  });
}

// The core knows only runs that are not over.
template <typename Response>
void RunsHandlers::Refuse(const Caller& caller, RunId run, Reply<Response> reply) {
  engine_->Read([run](StoreReader& reader) { return FindRunRow(reader, run); },
                [caller, run, reply](const absl::StatusOr<RunRow>& row) {
                  if (!row.ok()) return reply(row.status());
                  absl::Status status = CheckIsTheirs(caller, row->record);
                  if (!status.ok()) return reply(status);
                  reply(absl::FailedPreconditionError(absl::StrCat(
                      "run ", run, " is over already: it ", HowItEnded(row->record.state))));
                });
}

void RunsHandlers::Get(const Caller&, const v1::GetRunRequest& request,
                       Reply<v1::RunDetail> reply) {
  engine_->Read([run = request.run()](StoreReader& reader) { return ReadRun(run, reader); },
                [this, reply](absl::StatusOr<v1::RunDetail> detail) {
                  if (!detail.ok()) return reply(detail.status());
                  const Now now = engine_->now();
                  v1::Run* const run = detail->mutable_run();
                  ShowWait(*engine_, run);
                  if (IsStill(*engine_, run->id(), static_cast<RunState>(run->state()))) {
                    detail->set_rendezvous(engine_->cluster().RendezvousState(now, run->id()));
                  }
                  detail->set_now_us(ToMicros(now.wall));
                  reply(std::move(detail));
                });
}

void RunsHandlers::ListExperiments(const Caller&, const v1::ListExperimentsRequest&,
                                   Reply<v1::ListExperimentsResponse> reply) {
  engine_->Read(&ReadExperiments,
                [this, reply](absl::StatusOr<v1::ListExperimentsResponse> experiments) {
                  if (!experiments.ok()) return reply(experiments.status());
                  experiments->set_now_us(ToMicros(engine_->now().wall));
                  reply(std::move(experiments));
                });
}

SourceOr<v1::FollowResponse> RunsHandlers::Follow(const Caller&, const v1::FollowRequest& request) {
  return std::make_unique<FollowSource>(engine_, request);
}

SourceOr<v1::WaitResponse> RunsHandlers::Wait(const Caller&, const v1::WaitRequest& request) {
  HPC_RETURN_IF_ERROR(CheckWait(request));
  return std::make_unique<WaitSource>(engine_, request);
}

SourceOr<v1::ListRunsResponse> RunsHandlers::List(const Caller&,
                                                  const v1::ListRunsRequest& request) {
  HPC_RETURN_IF_ERROR(CheckListRuns(request));
  RunFilter filter;
  for (const int state : request.states()) filter.states.push_back(static_cast<RunState>(state));
  if (request.has_experiment()) filter.experiment = request.experiment();
  if (request.has_user()) filter.user = request.user();
  if (request.has_name()) filter.name = request.name();
  if (request.has_tag()) filter.tag = request.tag();
  filter.before = request.before();
  filter.limit = request.limit();
  filter.parts = {.command = !request.without_command(), .results = request.with_results()};
  return std::make_unique<RunsSource>(engine_, filter);
}

SourceOr<v1::LogPiece> RunsHandlers::ReadLog(const Caller&, const v1::ReadLogRequest& request) {
  HPC_RETURN_IF_ERROR(CheckReadLog(request));
  return std::make_unique<LogSource>(engine_, request);
}

SourceOr<v1::ListMetricsResponse> RunsHandlers::ListMetrics(const Caller&,
                                                            const v1::ListMetricsRequest& request) {
  MetricFilter filter;
  filter.run = request.run();
  filter.key = request.key();
  filter.after_row = request.after_row();
  return std::make_unique<MetricsSource>(engine_, filter);
}

}  // namespace hpc::coordinator
