#include "coordinator/rpc/handlers/runs_handlers.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "coordinator/rpc/answers/follow_source.h"
#include "coordinator/rpc/answers/list_sources.h"
#include "coordinator/rpc/answers/run_page.h"
#include "coordinator/rpc/answers/wait_source.h"
#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/convert_run.h"
#include "coordinator/rpc/convert/validate.h"

namespace hpc::coordinator {
namespace {

absl::string_view HowItEnded(RunState state) {
  if (state == RunState::kCancelled) return "was cancelled";
  if (state == RunState::kTimedOut) return "met its time limit";
  return Name(state);
}

}  // namespace

void RunsHandlers::Submit(const Caller& caller, const v1::SubmitRequest& request,
                          Reply<v1::SubmitResponse> reply) {
  if (absl::Status status = CheckSubmit(request); !status.ok()) return reply(status);
  RunRequest run = ToRunRequest(request.spec());
  run.user = caller.user;
  engine_->Submit(run, ToRunProgram(request), [reply](const absl::StatusOr<RunId>& id) {
    if (!id.ok()) return reply(id.status());
    v1::SubmitResponse response;
    response.set_run(*id);
    reply(response);
  });
}

void RunsHandlers::Cancel(const Caller& caller, const v1::CancelRequest& request,
                          Reply<v1::CancelResponse> reply) {
  const RunId run = request.run();
  if (caller.own_only) {
    const absl::StatusOr<RunRow> row = FindRunRow(engine_->store(), run);
    if (!row.ok()) return reply(row.status());
    if (row->record.request.user != caller.user) {
      return reply(absl::PermissionDeniedError(absl::StrCat(
          "run ", run, " is ", row->record.request.user, "'s; you are ", caller.user)));
    }
  }
  engine_->Cancel(run, WhoIs(caller), [this, run, reply](const absl::Status& status) {
    if (status.ok()) return reply(v1::CancelResponse());
    if (!absl::IsNotFound(status)) return reply(status);
    // The core knows only runs that are not over.
    const absl::StatusOr<RunRow> row = FindRunRow(engine_->store(), run);
    if (!row.ok()) return reply(row.status());
    reply(absl::FailedPreconditionError(
        absl::StrCat("run ", run, " is over already: it ", HowItEnded(row->record.state))));
  });
}

void RunsHandlers::Get(const Caller&, const v1::GetRunRequest& request,
                       Reply<v1::RunDetail> reply) {
  const RunId run = request.run();
  engine_->CatchUp();
  if (absl::Status status = CheckExists(run); !status.ok()) return reply(status);
  const absl::StatusOr<RunDetail> detail = engine_->store().GetRun(run);
  if (!detail.ok()) return reply(detail.status());
  const absl::StatusOr<std::vector<MetricSummary>> metrics = engine_->store().SummarizeMetrics(run);
  if (!metrics.ok()) return reply(metrics.status());
  v1::RunDetail response = ToProto(*detail);
  for (const MetricSummary& metric : *metrics) *response.add_metrics() = ToProto(metric);
  if (detail->record.state == RunState::kQueued) {
    AddWait(engine_->cluster().Waiting(engine_->now(), run), response.mutable_run());
  }
  response.set_rendezvous(engine_->cluster().RendezvousState(engine_->now(), run));
  response.set_now_us(ToMicros(engine_->now().wall));
  reply(std::move(response));
}

void RunsHandlers::ListExperiments(const Caller&, const v1::ListExperimentsRequest&,
                                   Reply<v1::ListExperimentsResponse> reply) {
  engine_->CatchUp();
  const absl::StatusOr<std::vector<ExperimentRow>> rows = engine_->store().ListExperiments();
  if (!rows.ok()) return reply(rows.status());
  v1::ListExperimentsResponse response;
  for (const ExperimentRow& row : *rows) *response.add_experiments() = ToProto(row);
  response.set_now_us(ToMicros(engine_->now().wall));
  reply(std::move(response));
}

absl::Status RunsHandlers::CheckExists(RunId run) {
  return FindRunRow(engine_->store(), run).status();
}

SourceOr<v1::FollowResponse> RunsHandlers::Follow(const Caller&, const v1::FollowRequest& request) {
  engine_->CatchUp();
  HPC_RETURN_IF_ERROR(CheckExists(request.run()));
  return std::make_unique<FollowSource>(engine_, request);
}

SourceOr<v1::WaitResponse> RunsHandlers::Wait(const Caller&, const v1::WaitRequest& request) {
  engine_->CatchUp();
  HPC_RETURN_IF_ERROR(CheckWait(request));
  for (const RunId run : request.runs()) {
    if (!engine_->cluster().FindRun(run)) HPC_RETURN_IF_ERROR(CheckExists(run));
  }
  return std::make_unique<WaitSource>(engine_, request);
}

SourceOr<v1::ListRunsResponse> RunsHandlers::List(const Caller&,
                                                  const v1::ListRunsRequest& request) {
  engine_->CatchUp();
  HPC_RETURN_IF_ERROR(CheckListRuns(request));
  RunFilter filter;
  for (const int state : request.states()) filter.states.push_back(static_cast<RunState>(state));
  if (request.has_experiment()) filter.experiment = request.experiment();
  if (request.has_tag()) filter.tag = request.tag();
  filter.before = request.before();
  filter.limit = request.limit();
  filter.parts = {.command = !request.without_command(), .results = request.with_results()};
  return std::make_unique<RunsSource>(engine_, filter);
}

SourceOr<v1::LogPiece> RunsHandlers::ReadLog(const Caller&, const v1::ReadLogRequest& request) {
  engine_->CatchUp();
  HPC_RETURN_IF_ERROR(CheckExists(request.run()));
  HPC_RETURN_IF_ERROR(CheckReadLog(request));
  if (request.has_rank() || request.has_attempt()) {
    HPC_ASSIGN_OR_RETURN(const RunDetail detail, engine_->store().GetRun(request.run()));
    HPC_RETURN_IF_ERROR(CheckOutputOf(
        detail, request.has_attempt() ? std::make_optional(request.attempt()) : std::nullopt,
        request.has_rank() ? std::make_optional(request.rank()) : std::nullopt));
  }
  if (request.last_bytes() == 0) return std::make_unique<LogSource>(engine_, request);
  v1::ReadLogRequest from = request;
  HPC_ASSIGN_OR_RETURN(const int64_t position, LogTail(request.run(), request.last_bytes()));
  from.set_position(position);
  return std::make_unique<LogSource>(engine_, from);
}

// Starts at a segment, since a segment can be read without the ones before it.
absl::StatusOr<int64_t> RunsHandlers::LogTail(RunId run, int64_t last_bytes) {
  const int64_t wanted = engine_->logs().EndPosition(run) - last_bytes;
  HPC_ASSIGN_OR_RETURN(const std::vector<LogSegmentRecord> segments,
                       engine_->store().LogSegments(run));
  int64_t position = 0;
  for (const LogSegmentRecord& segment : segments) {
    if (segment.first_position <= wanted) position = segment.first_position;
  }
  return position;
}

SourceOr<v1::ListMetricsResponse> RunsHandlers::ListMetrics(const Caller&,
                                                            const v1::ListMetricsRequest& request) {
  engine_->CatchUp();
  HPC_RETURN_IF_ERROR(CheckExists(request.run()));
  MetricFilter filter;
  filter.run = request.run();
  filter.key = request.key();
  filter.after_row = request.after_row();
  return std::make_unique<MetricsSource>(engine_, filter);
}

}  // namespace hpc::coordinator
