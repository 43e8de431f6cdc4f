#include "coordinator/rpc/convert/convert_worker.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "common/version.h"
#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/convert_node.h"
#include "coordinator/rpc/convert/limits.h"

namespace hpc::coordinator {
namespace {

std::string Words(const std::string& text) { return CleanText(text, kMaxReason); }

// On the wire, 0 means: until lent.
std::optional<absl::Duration> TimeLeft(int64_t ms) {
  if (ms <= 0) return std::nullopt;
  return FromMillis(ms);
}

// `lost_reason` comes from a worker that does not know of halts.
Halt ToHalt(bool has_halt, const v1::Halt& halt, const std::string& lost_reason) {
  if (!has_halt) {
    return lost_reason.empty() ? Halt()
                               : Halt{HaltKind::kSupervisorLost, Words(lost_reason), {}, {}};
  }
  // A kind that this version does not know was at least the node's own doing.
  const bool known = v1::Halt::Kind_IsValid(halt.kind()) && halt.kind() != 0;
  return {known ? static_cast<HaltKind>(halt.kind()) : HaltKind::kCutOff, Words(halt.reason()),
          FromMicros(halt.ago_us()), FromMicros(halt.within_us())};
}

HeldAttempt ToHeldAttempt(const v1::HeldAttempt& held) {
  HeldAttempt out;
  out.ref = FromProto(held.ref());
  out.started = held.started();
  out.returned = held.returned();
  for (const v1::HeldRank& rank : held.ranks()) {
    HeldAttempt::Rank& r = out.ranks.emplace_back();
    r.rank = rank.rank();
    r.pid = rank.pid();
    if (rank.has_exit()) r.exit = FromProto(rank.exit());
    r.ago = {FromMicros(rank.started_ago_us()), FromMicros(rank.ended_ago_us()),
             FromMicros(rank.ended_within_us())};
  }
  out.halt = ToHalt(held.has_halt(), held.halt(), held.lost_reason());
  out.store_lost = held.store_lost();
  out.witnessed = held.witnessed();
  return out;
}

Pairs CleanPairs(const google::protobuf::RepeatedPtrField<v1::KeyValue>& pairs) {
  Pairs out;
  for (const v1::KeyValue& pair : pairs) {
    out.emplace_back(CleanText(pair.key(), kMaxName), CleanText(pair.value(), kMaxValue));
  }
  return out;
}

int64_t Millis(absl::Duration d) { return absl::ToInt64Milliseconds(d); }

// One function per command; std::visit chooses it.
struct CommandWriter {
  v1::CoordinatorMessage* out;

  void operator()(const PrepareAttempt&) const {}  // has a ToProto of its own
  void operator()(const StartAttempt& start) const {
    v1::Start* m = out->mutable_start();
    *m->mutable_ref() = ToProto(start.ref);
    m->set_master_addr(start.master_addr);
    m->set_master_port(start.master_port);
    m->set_store_host(static_cast<v1::StoreHost>(start.store_host));
    m->set_witnessed(start.witnessed);
  }
  void operator()(const DoubtAttempt& doubt) const {
    v1::Doubt* m = out->mutable_doubt();
    *m->mutable_ref() = ToProto(doubt.ref);
    m->set_span_ms(Millis(doubt.span));
    m->set_asked_us(absl::ToInt64Microseconds(doubt.asked.since_zero));
  }
  void operator()(const RecallRanks& recall) const {
    v1::Recall* m = out->mutable_recall();
    *m->mutable_ref() = ToProto(recall.ref);
    m->set_node(recall.node);
    m->set_address(recall.address);
    m->set_port(recall.access.port);
    m->set_key(recall.access.key);
    m->set_proof(recall.access.proof);
    m->set_grace_ms(Millis(recall.grace));
  }
  void operator()(const StopAttempt& stop) const {
    v1::Stop* m = out->mutable_stop();
    *m->mutable_ref() = ToProto(stop.ref);
    m->set_grace_ms(Millis(stop.grace));
    m->set_reason(stop.reason);
  }
  void operator()(const ForgetAttempt& forget) const {
    *out->mutable_forget()->mutable_ref() = ToProto(forget.ref);
  }
  void operator()(const SetOwner& owner) const {
    v1::SetOwner* m = out->mutable_set_owner();
    m->set_reclaimed(owner.reclaimed);
    if (owner.time_left) m->set_left_ms(std::max<int64_t>(1, Millis(*owner.time_left)));
    m->set_reason(owner.reason);
  }
  void operator()(const GoToSleep& sleep) const {
    out->mutable_go_to_sleep()->set_reason(sleep.reason);
  }
};

}  // namespace

NodeHello FromProto(const v1::Hello& hello) {
  NodeHello out;
  out.node = hello.node();
  out.incarnation = hello.incarnation();
  out.boot_id = Words(hello.boot_id());
  out.resumed = hello.resumed();
  out.address = hello.address();
  out.can_vouch = hello.can_vouch();
  out.inventory = FromProto(hello.inventory());
  out.owner_changed = hello.owner_changed();
  out.reclaimed = hello.reclaimed();
  if (hello.reclaimed()) out.reclaim_time_left = TimeLeft(hello.reclaim_left_ms());
  out.reclaim_reason = Words(hello.reclaim_reason());
  for (const v1::HeldAttempt& held : hello.attempts()) out.attempts.push_back(ToHeldAttempt(held));
  return out;
}

Halt FromProto(const v1::AttemptHalted& halted) {
  return ToHalt(halted.has_halt(), halted.halt(), "");
}

Halt FromProto(const v1::AttemptReturned& returned) {
  return ToHalt(returned.has_halt(), returned.halt(), returned.lost_reason());
}

RankAges FromProto(const v1::RankEnded& ended) {
  return {FromMicros(ended.started_ago_us()), FromMicros(ended.ended_ago_us()),
          FromMicros(ended.ended_within_us())};
}

std::optional<NodeTimes> TimesOf(const v1::WorkerMessage& message) {
  if (message.said_us() <= 0) return std::nullopt;
  NodeTimes times;
  times.said = FromMicros(message.said_us());
  if (message.has_heartbeat()) {
    times.heartbeat = true;
    times.heard_beat = FromMicros(message.heartbeat().heard_us());
    times.heard_at = FromMicros(message.heartbeat().heard_at_us());
  }
  return times;
}

RankExit FromProto(const v1::RankExit& exit) {
  RankExit out;
  if (exit.has_exit_code()) out.exit_code = exit.exit_code();
  if (exit.has_signal()) out.signal = exit.signal();
  out.after_stop = exit.after_stop();
  out.message = CleanText(exit.message(), kMaxExitText);
  out.traceback = CleanText(exit.traceback(), kMaxExitText);
  return out;
}

ReclaimRequest FromProto(const v1::OwnerChanged& change) {
  ReclaimRequest out;
  out.duration = TimeLeft(change.for_ms());
  out.reason = Words(change.reason());
  out.who = "its owner, on the PC itself";
  if (change.grace_ms() > 0) out.grace = FromMillis(change.grace_ms());
  return out;
}

PreparedReport FromProto(const v1::Prepared& prepared) {
  PreparedReport out;
  out.ref = FromProto(prepared.ref());
  if (prepared.error_code() != 0) {
    out.status =
        absl::Status(static_cast<absl::StatusCode>(prepared.error_code()), Words(prepared.error()));
  }
  out.store_addr = Words(prepared.store_addr());
  out.store_port = prepared.store_port();
  out.store_client_ok = prepared.store_client_ok();
  out.recall = {prepared.recall_port(), Words(prepared.recall_key()),
                Words(prepared.recall_proof())};
  return out;
}

EnvironmentRecord FromProto(const v1::Environment& environment) {
  EnvironmentRecord out;
  out.ref = FromProto(environment.ref());
  out.facts = CleanPairs(environment.facts());
  out.added = CleanPairs(environment.added());
  return out;
}

std::vector<StartedRank> FromProto(const v1::Started& started) {
  std::vector<StartedRank> out;
  for (const v1::HeldRank& rank : started.ranks()) {
    out.push_back({rank.rank(), rank.pid(), FromMicros(rank.started_ago_us())});
  }
  return out;
}

std::vector<RankDoing> FromProto(const v1::Heartbeat& heartbeat) {
  std::vector<RankDoing> out;
  for (const v1::RankDoing& one : heartbeat.doing()) {
    out.push_back({FromProto(one.ref()), one.rank(), Words(one.text())});
  }
  return out;
}

RendezvousReport FromProto(const v1::Rendezvous& rendezvous) {
  RendezvousReport out;
  out.ref = FromProto(rendezvous.ref());
  for (const v1::Rendezvous::Arrival& arrival : rendezvous.arrivals()) {
    out.arrivals.push_back({Words(arrival.address()), arrival.pid()});
  }
  out.blocked_key = Words(rendezvous.blocked_key());
  out.waiting = rendezvous.waiting();
  return out;
}

LogStreamId FromProto(const v1::LogData& data) {
  return {FromProto(data.ref()), data.rank(), data.is_stderr()};
}

LogStreamId FromProto(const v1::LogEnd& end) {
  return {FromProto(end.ref()), end.rank(), end.is_stderr()};
}

MetricReport FromProto(const v1::MetricData& data, absl::Time now) {
  MetricReport out;
  out.offset = {FromProto(data.ref()), data.rank(), data.end_offset()};
  out.points.reserve(static_cast<size_t>(data.points_size()));
  for (const v1::MetricData::Point& point : data.points()) {
    out.points.push_back({out.offset.ref, out.offset.rank, CleanText(point.key(), kMaxName),
                          point.step(), point.value(), now - FromMicros(point.age_us())});
  }
  for (const std::string& remark : data.remarks()) out.remarks.push_back(Words(remark));
  out.ended = data.ended();
  return out;
}

v1::CoordinatorMessage ToProto(const Welcome& welcome) {
  v1::CoordinatorMessage out;
  v1::Welcome* m = out.mutable_welcome();
  m->set_lease_ms(Millis(welcome.lease));
  m->set_heartbeat_interval_ms(Millis(welcome.heartbeat_interval));
  m->set_stop_after_disconnect_ms(Millis(welcome.stop_after_disconnect));
  m->set_protocol_version(kProtocolVersion);
  m->set_contact_limit_ms(Millis(welcome.contact_limit));
  m->set_vouch_limit_ms(Millis(welcome.vouch_limit));
  m->set_takes_more(true);
  return out;
}

v1::CoordinatorMessage ToProto(const PrepareAttempt& prepare, const RunRecord& run,
                               const RunProgram& program) {
  v1::CoordinatorMessage out;
  v1::Prepare* m = out.mutable_prepare();
  *m->mutable_ref() = ToProto(prepare.ref);
  m->set_node_rank(prepare.node_rank);
  for (const int32_t device : prepare.devices) m->add_devices(device);
  m->set_first_rank(prepare.first_rank);
  m->set_ranks(prepare.ranks);
  m->set_world_size(prepare.world_size);
  for (const Peer& peer : prepare.peers) {
    v1::Peer* p = m->add_peers();
    p->set_node(peer.node);
    p->set_address(peer.address);
    p->set_first_rank(peer.first_rank);
    p->set_ranks(peer.ranks);
  }
  m->set_mode(static_cast<v1::LaunchMode>(prepare.mode));
  m->set_store_host(static_cast<v1::StoreHost>(prepare.store_host));
  m->set_restart_count(prepare.restart_count);
  m->set_max_restarts(prepare.max_restarts);
  m->set_stop_grace_ms(Millis(prepare.stop_grace));
  m->set_run_name(run.request.name);
  m->set_experiment(run.request.experiment);
  for (const std::string& argument : program.command) m->add_command(argument);
  m->set_workdir(program.workdir);
  AddPairs(program.env, m->mutable_env());
  m->set_legacy_local_rank(static_cast<v1::LegacyLocalRank>(program.legacy_local_rank));
  AddPairs(program.params, m->mutable_params());
  m->set_user(run.request.user);
  return out;
}

v1::CoordinatorMessage ToProto(const NodeCommand& command) {
  v1::CoordinatorMessage out;
  std::visit(CommandWriter{&out}, command);
  return out;
}

v1::CoordinatorMessage Heard(int64_t sent_us) {
  v1::CoordinatorMessage out;
  out.mutable_heard()->set_sent_us(sent_us);
  return out;
}

v1::CoordinatorMessage LogAck(const LogStreamId& stream, int64_t offset) {
  v1::CoordinatorMessage out;
  v1::LogAck* m = out.mutable_log_ack();
  *m->mutable_ref() = ToProto(stream.ref);
  m->set_rank(stream.rank);
  m->set_is_stderr(stream.is_stderr);
  m->set_offset(offset);
  return out;
}

v1::CoordinatorMessage MetricAck(const MetricOffset& offset) {
  v1::CoordinatorMessage out;
  v1::MetricAck* m = out.mutable_metric_ack();
  *m->mutable_ref() = ToProto(offset.ref);
  m->set_rank(offset.rank);
  m->set_end_offset(offset.offset);
  return out;
}

}  // namespace hpc::coordinator
