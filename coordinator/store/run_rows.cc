// Runs, what they execute, and their attempts, placements and ranks.
#include <string_view>

#include "coordinator/store/row_columns.h"
#include "coordinator/store/rows.h"

namespace hpc::coordinator {

template <>
struct Words<protocol::LaunchMode> {
  static constexpr Word<protocol::LaunchMode> kAll[] = {
      {protocol::LaunchMode::kTorchrun, "torchrun"},
      {protocol::LaunchMode::kPerNode, "per-node"},
      {protocol::LaunchMode::kSlurm, "slurm"},
  };
};

template <>
struct Words<GrowMode> {
  static constexpr Word<GrowMode> kAll[] = {
      {GrowMode::kNever, "never"},
      {GrowMode::kCheckpoint, "checkpoint"},
      {GrowMode::kNow, "now"},
  };
};

template <>
struct Words<protocol::StoreHost> {
  static constexpr Word<protocol::StoreHost> kAll[] = {
      {protocol::StoreHost::kAuto, "auto"},
      {protocol::StoreHost::kWorker, "worker"},
      {protocol::StoreHost::kRank0, "rank0"},
  };
};

template <>
struct Words<protocol::WarmStart> {
  static constexpr Word<protocol::WarmStart> kAll[] = {{protocol::WarmStart::kAuto, "auto"},
                                                       {protocol::WarmStart::kOff, "off"}};
};
template <>
struct Words<protocol::StopSignal> {
  static constexpr Word<protocol::StopSignal> kAll[] = {
      {protocol::StopSignal::kAuto, "auto"}, {protocol::StopSignal::kTerm, "term"},
      {protocol::StopSignal::kInt, "int"},   {protocol::StopSignal::kHup, "hup"},
      {protocol::StopSignal::kQuit, "quit"}, {protocol::StopSignal::kUsr1, "usr1"},
      {protocol::StopSignal::kUsr2, "usr2"},
  };
};

template <>
struct Words<protocol::LegacyLocalRank> {
  static constexpr Word<protocol::LegacyLocalRank> kAll[] = {
      {protocol::LegacyLocalRank::kNone, "none"},
      {protocol::LegacyLocalRank::kDash, "dash"},
      {protocol::LegacyLocalRank::kUnderscore, "underscore"},
  };
};

constexpr Table kListedRuns = {
    "runs", "id",
    "name, experiment, user, state, reason, attempts, failures, losses, retries, exit_code, "
    "cancel_requested, on_hold, submitted_at, started_at, ended_at, min_nodes, max_nodes, "
    "priority"};

constexpr Table kRuns = {
    "runs", "id",
    "name, experiment, user, state, reason, attempts, failures, losses, retries, exit_code, "
    "cancel_requested, on_hold, submitted_at, started_at, ended_at, min_nodes, max_nodes, "
    "priority, "
    "ranks_per_node, gpus_per_node, node_list, exclude, after_run, time_limit, max_restarts, "
    "mode, store_host, stop_grace, retry_exits, grow, retry_at, leave_asleep, "
    "refused_by, hold"};
static_assert(std::string_view(kRuns.columns).starts_with(kListedRuns.columns));

absl::string_view ExperimentOf(const RunRecord& run) {
  return run.request.experiment.empty() ? "default" : absl::string_view(run.request.experiment);
}

void Bind(const RunRecord& run, Statement& to) {
  const RunRequest& request = run.request;
  to.Int(run.id)
      .Text(request.name)
      .Text(ExperimentOf(run))
      .Text(request.user)
      .Text(ToWord(run.state))
      .Text(run.reason)
      .Int(run.attempts)
      .Int(run.failures)
      .Int(run.losses)
      .Int(run.retries)
      .Int(run.exit_code)
      .Int(run.cancel_requested)
      .Text(run.on_hold)
      .Time(run.submitted_at)
      .Time(run.started_at)
      .Time(run.ended_at)
      .Int(request.min_nodes)
      .Int(request.max_nodes)
      .Int(request.priority)
      .Int(request.ranks_per_node)
      .OptionalInt32(request.gpus_per_node)
      .Text(ToJson(request.node_list))
      .Text(ToJson(request.exclude))
      .IntOrNull(request.after, 0)
      .Duration(request.time_limit)
      .Int(request.max_restarts)
      .Text(ToWord(request.mode))
      .Text(ToWord(request.store_host))
      .Duration(request.stop_grace)
      .Text(ToJson(request.retry_exits))
      .Text(ToWord(request.grow))
      .Time(run.retry_at)
      .Text(ToJson(run.leave_asleep))
      .Text(ToJson(run.refused_by))
      .Int(request.hold);
}

RunRecord ReadListedRun(Row& row) {
  RunRecord run;
  RunRequest& request = run.request;
  run.id = row.Int();
  request.name = row.Text();
  request.experiment = row.Text();
  request.user = row.Text();
  run.state = ReadWord<RunState>(row);
  run.reason = row.Text();
  run.attempts = row.Int32();
  run.failures = row.Int32();
  run.losses = row.Int32();
  run.retries = row.Int32();
  run.exit_code = row.Int32();
  run.cancel_requested = row.Bool();
  run.on_hold = row.Text();
  run.submitted_at = row.Time(absl::UnixEpoch());
  run.started_at = row.Time(absl::InfinitePast());
  run.ended_at = row.Time(absl::InfinitePast());
  request.min_nodes = row.Int32();
  request.max_nodes = row.Int32();
  request.priority = row.Int32();
  return run;
}

RunRecord ReadRun(Row& row) {
  RunRecord run = ReadListedRun(row);
  RunRequest& request = run.request;
  request.ranks_per_node = row.Int32();
  request.gpus_per_node = row.OptionalInt32();
  request.node_list = ReadTexts(row);
  request.exclude = ReadTexts(row);
  request.after = row.Int();
  request.time_limit = row.Duration(absl::InfiniteDuration());
  request.max_restarts = row.Int32();
  request.mode = ReadWord<protocol::LaunchMode>(row);
  request.store_host = ReadWord<protocol::StoreHost>(row);
  request.stop_grace = row.Duration(absl::InfiniteDuration());
  request.retry_exits = ReadJson(row, IntsFromJson);
  request.grow = ReadWord<GrowMode>(row);
  run.retry_at = row.Time(absl::InfinitePast());
  run.leave_asleep = ReadTexts(row);
  run.refused_by = ReadTexts(row);
  request.hold = row.Bool();
  return run;
}

constexpr Table kPrograms = {"programs", "run",
                             "command, workdir, request_id, submit_host, legacy_local_rank, "
                             "stop_signal, umask, warm, repository, commit_id, "
                             "branch, dirty, diff_cut, env, diff"};

void Bind(RunId run, const RunProgram& program, Statement& to) {
  to.Int(run)
      .Text(ToJson(program.command))
      .Text(program.workdir)
      .TextOrNull(program.request_id)
      .Text(program.submit_host)
      .Text(ToWord(program.legacy_local_rank))
      .Text(ToWord(program.stop_signal))
      .Int(program.umask)
      .Text(ToWord(program.warm))
      .Text(program.code.repository)
      .Text(program.code.commit)
      .Text(program.code.branch)
      .Int(program.code.dirty)
      .Int(program.code.diff_cut)
      .Text(ToJson(program.env))
      .Text(program.code.diff);
}

RunProgram ReadProgram(Row& row) {
  RunProgram program;
  row.Int();  // skips the run
  program.command = ReadTexts(row);
  program.workdir = row.Text();
  program.request_id = row.Text();
  program.submit_host = row.Text();
  program.legacy_local_rank = ReadWord<protocol::LegacyLocalRank>(row);
  program.stop_signal = ReadWord<protocol::StopSignal>(row);
  program.umask = row.Int32();
  program.warm = ReadWord<protocol::WarmStart>(row);
  program.code.repository = row.Text();
  program.code.commit = row.Text();
  program.code.branch = row.Text();
  program.code.dirty = row.Bool();
  program.code.diff_cut = row.Bool();
  program.env = ReadJson(row, PairsFromJson);
  program.code.diff = row.Text();
  return program;
}

constexpr Table kAttempts = {
    "attempts", "run, number",
    "state, outcome, reason, placement_reason, world_size, master_addr, master_port, "
    "store_host, created_at, started_at, ended_at, caused_from, caused_until, exit_code, "
    "free_of_charge, causes"};

void Bind(const AttemptRecord& attempt, Statement& to) {
  to.Int(attempt.ref.run)
      .Int(attempt.ref.number)
      .Text(ToWord(attempt.state))
      .TextOrNull(ToWord(attempt.outcome))
      .Text(attempt.reason)
      .Text(attempt.placement_reason)
      .Int(attempt.world_size)
      .Text(attempt.master_addr)
      .Int(attempt.master_port)
      .Text(ToWord(attempt.store_host))
      .Time(attempt.created_at)
      .Time(attempt.started_at)
      .Time(attempt.ended_at)
      .Time(attempt.caused_from)
      .Time(attempt.caused_until)
      .Int(attempt.exit_code)
      .Int(attempt.free_of_charge)
      .Text(ToJson(attempt.causes));
}

AttemptRecord ReadAttempt(Row& row) {
  AttemptRecord attempt;
  attempt.ref.run = row.Int();
  attempt.ref.number = row.Int32();
  attempt.state = ReadWord<AttemptState>(row);
  attempt.outcome = ReadWord<AttemptOutcome>(row);
  attempt.reason = row.Text();
  attempt.placement_reason = row.Text();
  attempt.world_size = row.Int32();
  attempt.master_addr = row.Text();
  attempt.master_port = row.Int32();
  attempt.store_host = ReadWord<protocol::StoreHost>(row);
  attempt.created_at = row.Time(absl::UnixEpoch());
  attempt.started_at = row.Time(absl::InfinitePast());
  attempt.ended_at = row.Time(absl::InfinitePast());
  attempt.caused_from = row.Time(absl::InfinitePast());
  attempt.caused_until = row.Time(absl::InfinitePast());
  attempt.exit_code = row.Int32();
  attempt.free_of_charge = row.Int() != 0;
  attempt.causes = ReadJson(row, CausesFromJson);
  return attempt;
}

constexpr Table kPlacements = {"placements", "run, attempt, node",
                               "node_rank, address, devices, first_rank, ranks, returned"};

void Bind(const PlacementRecord& placement, Statement& to) {
  to.Int(placement.ref.run)
      .Int(placement.ref.number)
      .Text(placement.node)
      .Int(placement.node_rank)
      .Text(placement.address)
      .Text(ToJson(placement.devices))
      .Int(placement.first_rank)
      .Int(placement.ranks)
      .Int(placement.returned);
}

PlacementRecord ReadPlacement(Row& row) {
  PlacementRecord placement;
  placement.ref.run = row.Int();
  placement.ref.number = row.Int32();
  placement.node = row.Text();
  placement.node_rank = row.Int32();
  placement.address = row.Text();
  placement.devices = ReadJson(row, IntsFromJson);
  placement.first_rank = row.Int32();
  placement.ranks = row.Int32();
  placement.returned = row.Bool();
  return placement;
}

constexpr Table kRanks = {
    "ranks", "run, attempt, rank",
    "local_rank, node, devices, pid, started_at, ended_at, exit_code, signal, after_stop, "
    "message, traceback, ended_from, catches_sigterm, words_before_end"};

void Bind(const RankRecord& rank, Statement& to) {
  static const protocol::RankExit& none = *new protocol::RankExit;
  const protocol::RankExit& exit = rank.exit.has_value() ? *rank.exit : none;
  to.Int(rank.ref.run)
      .Int(rank.ref.number)
      .Int(rank.rank)
      .Int(rank.local_rank)
      .Text(rank.node)
      .Text(ToJson(rank.devices))
      .Int(rank.pid)
      .Time(rank.started_at)
      .Time(rank.ended_at)
      .OptionalInt32(exit.exit_code)
      .OptionalInt32(exit.signal);
  rank.exit.has_value() ? to.Int(exit.after_stop) : to.Null();
  to.Text(exit.message).Text(exit.traceback).Time(rank.ended_from);
  to.Int(exit.catches_sigterm).Int(absl::ToInt64Microseconds(exit.words_before_end));
}

RankRecord ReadRank(Row& row) {
  RankRecord rank;
  rank.ref.run = row.Int();
  rank.ref.number = row.Int32();
  rank.rank = row.Int32();
  rank.local_rank = row.Int32();
  rank.node = row.Text();
  rank.devices = ReadJson(row, IntsFromJson);
  rank.pid = row.Int();
  rank.started_at = row.Time(absl::InfinitePast());
  rank.ended_at = row.Time(absl::InfinitePast());
  protocol::RankExit exit;
  exit.exit_code = row.OptionalInt32();
  exit.signal = row.OptionalInt32();
  const bool ended = !row.NextIsNull();
  exit.after_stop = row.Bool();
  exit.message = row.Text();
  exit.traceback = row.Text();
  if (ended) rank.exit = std::move(exit);
  rank.ended_from = row.Time(absl::InfinitePast());
  const bool catches_sigterm = row.Bool();
  const absl::Duration words_before_end = absl::Microseconds(row.Int());
  if (!rank.exit) return rank;
  rank.exit->catches_sigterm = catches_sigterm;
  rank.exit->words_before_end = words_before_end;
  return rank;
}

}  // namespace hpc::coordinator
