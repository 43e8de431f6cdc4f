#include "coordinator/rpc/convert/convert_run.h"

#include <map>
#include <string>
#include <utility>

#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/convert_spec.h"

namespace hpc::coordinator {
namespace {

constexpr size_t kListedCommandBytes = 4096;

void AddCommand(const std::vector<std::string>& command, v1::Run* run) {
  size_t left = kListedCommandBytes;
  for (const std::string& argument : command) {
    if (argument.size() > left) {
      run->add_command("...");
      return;
    }
    left -= argument.size();
    run->add_command(argument);
  }
}

template <typename Records, typename Out>
void AddInts(const Records& values, Out* out) {
  for (const auto value : values) out->Add(value);
}

v1::Attempt ToProto(const AttemptRecord& attempt) {
  v1::Attempt out;
  out.set_number(attempt.ref.number);
  out.set_state(Name(attempt.state));
  if (attempt.outcome != AttemptOutcome::kNone) out.set_outcome(Name(attempt.outcome));
  out.set_reason(attempt.reason);
  out.set_placement_reason(attempt.placement_reason);
  out.set_world_size(attempt.world_size);
  out.set_master_addr(attempt.master_addr);
  out.set_master_port(attempt.master_port);
  out.set_store_host(attempt.store_host == protocol::StoreHost::kRank0 ? "rank0" : "worker");
  out.set_created_at_us(ToMicros(attempt.created_at));
  out.set_started_at_us(ToMicros(attempt.started_at));
  out.set_ended_at_us(ToMicros(attempt.ended_at));
  return out;
}

v1::Placement ToProto(const PlacementRecord& placement, const EnvironmentRecord* environment) {
  v1::Placement out;
  out.set_attempt(placement.ref.number);
  out.set_node(placement.node);
  out.set_node_rank(placement.node_rank);
  out.set_address(placement.address);
  AddInts(placement.devices, out.mutable_devices());
  out.set_first_rank(placement.first_rank);
  out.set_ranks(placement.ranks);
  out.set_returned(placement.returned);
  if (environment != nullptr) {
    AddPairs(environment->facts, out.mutable_facts());
    AddPairs(environment->added, out.mutable_added_env());
  }
  return out;
}

v1::Rank ToProto(const RankRecord& rank) {
  v1::Rank out;
  out.set_attempt(rank.ref.number);
  out.set_rank(rank.rank);
  out.set_local_rank(rank.local_rank);
  out.set_node(rank.node);
  AddInts(rank.devices, out.mutable_devices());
  out.set_pid(rank.pid);
  if (rank.exit) *out.mutable_exit() = coordinator::ToProto(*rank.exit);
  out.set_started_at_us(ToMicros(rank.started_at));
  out.set_ended_at_us(ToMicros(rank.ended_at));
  return out;
}

v1::LogStream ToProto(const LogStreamRecord& stream) {
  v1::LogStream out;
  out.set_attempt(stream.ref.number);
  out.set_rank(stream.rank);
  out.set_is_stderr(stream.is_stderr);
  out.set_bytes(stream.bytes);
  out.set_cut_bytes(stream.cut_bytes);
  return out;
}

}  // namespace

void ToProto(const RunRecord& record, v1::Run* to) {
  v1::Run& out = *to;
  out.set_id(record.id);
  out.set_name(record.request.name);
  out.set_experiment(record.request.experiment);
  out.set_user(record.request.user);
  out.set_state(static_cast<v1::RunState>(record.state));
  out.set_reason(record.reason);
  out.set_attempts(record.attempts);
  out.set_failures(record.failures);
  out.set_exit_code(record.exit_code);
  out.set_min_nodes(record.request.min_nodes);
  out.set_max_nodes(record.request.max_nodes);
  out.set_priority(record.request.priority);
  out.set_submitted_at_us(ToMicros(record.submitted_at));
  out.set_started_at_us(ToMicros(record.started_at));
  out.set_ended_at_us(ToMicros(record.ended_at));
  out.set_cancel_requested(record.cancel_requested);
  out.set_on_hold(record.on_hold);
  out.set_losses(record.losses);
  out.set_retries(record.retries);
}

void ToProto(const RunRecord& record, const RunExtras& extras, v1::Run* out) {
  ToProto(record, out);
  AddExtras(extras, out);
}

void AddExtras(const RunExtras& extras, v1::Run* out) {
  for (const std::string& node : extras.nodes) out->add_nodes(node);
  AddCommand(extras.command, out);
  AddPairs(extras.params, out->mutable_params());
  for (const MetricSummary& metric : extras.metrics) *out->add_metrics() = ToProto(metric);
}

void AddWait(RunWait wait, v1::Run* run) {
  run->set_queue_position(wait.queue_position);
  if (run->state() == v1::RUN_STATE_QUEUED && !wait.text.empty()) {
    run->set_reason(std::move(wait.text));
  }
}

v1::RunDetail ToProto(const RunDetail& detail) {
  v1::RunDetail out;
  v1::Run* run = out.mutable_run();
  ToProto(detail.record, run);
  AddCommand(detail.program.command, run);
  *out.mutable_spec() = ToSpec(detail.record.request, detail.program);
  std::map<std::pair<AttemptRef, std::string>, const EnvironmentRecord*> environments;
  for (const EnvironmentRecord& e : detail.environments) environments[{e.ref, e.node}] = &e;
  for (const AttemptRecord& attempt : detail.attempts) *out.add_attempts() = ToProto(attempt);
  for (const PlacementRecord& placement : detail.placements) {
    const auto found = environments.find({placement.ref, placement.node});
    *out.add_placements() =
        ToProto(placement, found == environments.end() ? nullptr : found->second);
    if (placement.ref.number == detail.record.attempts) run->add_nodes(placement.node);
  }
  for (const RankRecord& rank : detail.ranks) *out.add_ranks() = ToProto(rank);
  for (const LogStreamRecord& stream : detail.log_streams) *out.add_log_streams() = ToProto(stream);
  return out;
}

v1::RankExit ToProto(const protocol::RankExit& exit) {
  v1::RankExit out;
  if (exit.exit_code) out.set_exit_code(*exit.exit_code);
  if (exit.signal) out.set_signal(*exit.signal);
  out.set_after_stop(exit.after_stop);
  out.set_message(exit.message);
  out.set_traceback(exit.traceback);
  return out;
}

v1::LogPiece ToProto(LogRecord record) {
  v1::LogPiece out;
  out.set_position(record.position);
  out.set_next_position(record.next_position);
  out.set_attempt(record.stream.ref.number);
  out.set_rank(record.stream.rank);
  out.set_is_stderr(record.stream.is_stderr);
  out.set_offset(record.offset);
  out.set_at_us(ToMicros(record.at));
  out.set_data(std::move(record.data));
  out.set_missing(std::move(record.missing));
  return out;
}

v1::MetricPoint ToProto(const MetricRow& row) {
  v1::MetricPoint out;
  out.set_row(row.row);
  out.set_key(row.point.key);
  out.set_step(row.point.step);
  out.set_value(row.point.value);
  out.set_at_us(ToMicros(row.point.at));
  out.set_attempt(row.point.ref.number);
  out.set_rank(row.point.rank);
  return out;
}

v1::MetricSummary ToProto(const MetricSummary& summary) {
  v1::MetricSummary out;
  out.set_key(summary.key);
  out.set_points(summary.points);
  out.set_last_step(summary.last_step);
  out.set_last(summary.last);
  out.set_min(summary.min);
  out.set_max(summary.max);
  return out;
}

v1::Experiment ToProto(const ExperimentRow& row) {
  v1::Experiment out;
  out.set_name(row.name);
  out.set_runs(row.runs);
  out.set_created_at_us(ToMicros(row.created_at));
  out.set_last_run_at_us(ToMicros(row.last_run_at));
  return out;
}

}  // namespace hpc::coordinator
