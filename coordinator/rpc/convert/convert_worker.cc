#include "coordinator/rpc/convert/convert_worker.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "common/version.h"
#include "coordinator/rpc/convert/convert_common.h"
#include "coordinator/rpc/convert/convert_node.h"
#include "coordinator/rpc/convert/limits.h"
#include "protocol/worker_message.h"

namespace hpc::coordinator {
namespace {

std::string Words(const std::string& text) { return CleanText(text, kMaxReason); }

// On the wire, 0 means: until lent.
std::optional<absl::Duration> TimeLeft(int64_t ms) {
  if (ms <= 0) return std::nullopt;
  return FromMillis(ms);
}

// `message` is a HeldRank or a RankEnded.
template <typename Message>
protocol::RankAges AgesOf(const Message& message) {
  protocol::RankAges ago{FromMicros(message.started_ago_us()), FromMicros(message.ended_ago_us()),
                         FromMicros(message.ended_within_us()), std::nullopt};
  if (!message.has_apart()) return ago;
  const absl::Duration until = FromMicros(message.apart().until_us());
  ago.apart = protocol::Apart{std::max(FromMicros(message.apart().from_us()), until), until};
  return ago;
}

// `lost_reason` comes from a worker that does not know of halts.
protocol::Halt ToHalt(bool has_halt, const v1::Halt& halt, const std::string& lost_reason) {
  if (!has_halt) {
    return lost_reason.empty()
               ? protocol::Halt()
               : protocol::Halt{protocol::HaltKind::kSupervisorLost, Words(lost_reason), {}, {}};
  }
  // A kind that this version does not know was at least the node's own doing.
  const bool known = v1::Halt::Kind_IsValid(halt.kind()) && halt.kind() != 0;
  return {known ? static_cast<protocol::HaltKind>(halt.kind()) : protocol::HaltKind::kCutOff,
          Words(halt.reason()), FromMicros(halt.ago_us()), FromMicros(halt.within_us())};
}

protocol::HeldRank ToHeldRank(const v1::HeldRank& rank) {
  protocol::HeldRank out{rank.rank(), rank.pid(), {}, AgesOf(rank)};
  if (rank.has_exit()) out.exit = FromProto(rank.exit());
  return out;
}

protocol::HeldAttempt ToHeldAttempt(const v1::HeldAttempt& held) {
  protocol::HeldAttempt out;
  out.ref = FromProto(held.ref());
  out.started = held.started();
  out.returned = held.returned();
  for (const v1::HeldRank& rank : held.ranks()) out.ranks.push_back(ToHeldRank(rank));
  out.halt = ToHalt(held.has_halt(), held.halt(), held.lost_reason());
  if (held.store_lost()) out.store_lost = FromMicros(held.store_lost_ago_us());
  out.witnessed = held.witnessed();
  out.before_boot = held.before_boot();
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

// One function for each thing that is said; std::visit chooses it.
struct Writer {
  v1::CoordinatorMessage* out;

  void operator()(const protocol::Welcome& welcome) const {
    v1::Welcome* m = out->mutable_welcome();
    m->set_lease_ms(Millis(welcome.lease));
    m->set_heartbeat_interval_ms(Millis(welcome.heartbeat_interval));
    m->set_stop_after_disconnect_ms(Millis(welcome.stop_after_disconnect));
    m->set_protocol_version(kProtocolVersion);
    m->set_contact_limit_ms(Millis(welcome.contact_limit));
    m->set_vouch_limit_ms(Millis(welcome.vouch_limit));
    m->set_takes_more(true);
  }
  void operator()(const protocol::Heard& heard) const {
    out->mutable_heard()->set_sent_us(absl::ToInt64Microseconds(heard.sent.since_zero));
  }
  void operator()(const protocol::Prepare& prepare) const {
    v1::Prepare* m = out->mutable_prepare();
    *m->mutable_ref() = ToProto(prepare.ref);
    m->set_node_rank(prepare.node_rank);
    for (const int32_t device : prepare.devices) m->add_devices(device);
    m->set_first_rank(prepare.first_rank);
    m->set_ranks(prepare.ranks);
    m->set_world_size(prepare.world_size);
    for (const protocol::Peer& peer : prepare.peers) {
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
    m->set_run_name(prepare.run_name);
    m->set_experiment(prepare.experiment);
    for (const std::string& argument : prepare.command) m->add_command(argument);
    m->set_workdir(prepare.workdir);
    AddPairs(prepare.env, m->mutable_env());
    m->set_legacy_local_rank(static_cast<v1::LegacyLocalRank>(prepare.legacy_local_rank));
    m->set_stop_signal(static_cast<v1::StopSignal>(prepare.stop_signal));
    m->set_umask(prepare.umask);
    m->set_warm(static_cast<v1::WarmStart>(prepare.warm));
    AddPairs(prepare.params, m->mutable_params());
    m->set_user(prepare.user);
  }
  void operator()(const protocol::Start& start) const {
    v1::Start* m = out->mutable_start();
    *m->mutable_ref() = ToProto(start.ref);
    m->set_master_addr(start.master_addr);
    m->set_master_port(start.master_port);
    m->set_store_host(static_cast<v1::StoreHost>(start.store_host));
    m->set_witnessed(start.witnessed);
  }
  void operator()(const protocol::Doubt& doubt) const {
    v1::Doubt* m = out->mutable_doubt();
    *m->mutable_ref() = ToProto(doubt.ref);
    m->set_span_ms(Millis(doubt.span));
    m->set_asked_us(absl::ToInt64Microseconds(doubt.asked.since_zero));
  }
  void operator()(const protocol::Recall& recall) const {
    v1::Recall* m = out->mutable_recall();
    *m->mutable_ref() = ToProto(recall.ref);
    m->set_node(recall.node);
    m->set_address(recall.address);
    m->set_port(recall.access.port);
    m->set_key(recall.access.key);
    m->set_proof(recall.access.proof);
    m->set_grace_ms(Millis(recall.grace));
  }
  void operator()(const protocol::Stop& stop) const {
    v1::Stop* m = out->mutable_stop();
    *m->mutable_ref() = ToProto(stop.ref);
    m->set_grace_ms(Millis(stop.grace));
    m->set_reason(stop.reason);
    m->set_interrupt(stop.interrupt);
  }
  void operator()(const protocol::Forget& forget) const {
    *out->mutable_forget()->mutable_ref() = ToProto(forget.ref);
  }
  void operator()(const protocol::SetOwner& owner) const {
    v1::SetOwner* m = out->mutable_set_owner();
    m->set_reclaimed(owner.reclaimed);
    if (owner.left) m->set_left_ms(std::max<int64_t>(1, Millis(*owner.left)));
    m->set_reason(owner.reason);
    if (owner.grace) m->set_grace_ms(Millis(*owner.grace));
  }
  void operator()(const protocol::GoToSleep& sleep) const {
    out->mutable_go_to_sleep()->set_reason(sleep.reason);
  }
  void operator()(const protocol::LogAck& ack) const {
    v1::LogAck* m = out->mutable_log_ack();
    *m->mutable_ref() = ToProto(ack.stream.ref);
    m->set_rank(ack.stream.rank);
    m->set_is_stderr(ack.stream.is_stderr);
    m->set_offset(ack.offset);
  }
  void operator()(const protocol::MetricAck& ack) const {
    v1::MetricAck* m = out->mutable_metric_ack();
    *m->mutable_ref() = ToProto(ack.ref);
    m->set_rank(ack.rank);
    m->set_end_offset(ack.end_offset);
  }
};

}  // namespace

protocol::Hello FromProto(const v1::Hello& hello) {
  protocol::Hello out;
  out.node = hello.node();
  out.incarnation = hello.incarnation();
  out.boot_id = Words(hello.boot_id());
  out.resumed = hello.resumed();
  out.address = hello.address();
  out.can_vouch = hello.can_vouch();
  out.inventory = FromProto(hello.inventory());
  out.owner_changed = hello.owner_changed();
  out.reclaimed = hello.reclaimed();
  if (hello.reclaimed()) out.reclaim_left = TimeLeft(hello.reclaim_left_ms());
  out.reclaim_reason = Words(hello.reclaim_reason());
  for (const v1::HeldAttempt& held : hello.attempts()) out.attempts.push_back(ToHeldAttempt(held));
  return out;
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

protocol::RankExit FromProto(const v1::RankExit& exit) {
  protocol::RankExit out;
  if (exit.has_exit_code()) out.exit_code = exit.exit_code();
  if (exit.has_signal()) out.signal = exit.signal();
  out.after_stop = exit.after_stop();
  out.message = CleanText(exit.message(), kMaxExitText);
  out.traceback = CleanText(exit.traceback(), kMaxExitText);
  out.catches_sigterm = exit.catches_sigterm();
  out.words_before_end = FromMicros(exit.words_before_end_us());
  return out;
}

protocol::Prepared FromProto(const v1::Prepared& prepared) {
  protocol::Prepared out;
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
  for (const v1::FoundCheckpoint& found : prepared.checkpoints()) {
    if (out.checkpoints.size() == protocol::kMostCheckpoints) break;
    out.checkpoints.push_back({Words(found.name()), absl::Milliseconds(found.age_ms())});
  }
  return out;
}

EnvironmentRecord FromProto(const v1::Environment& environment) {
  EnvironmentRecord out;
  out.ref = FromProto(environment.ref());
  out.facts = CleanPairs(environment.facts());
  out.added = CleanPairs(environment.added());
  return out;
}

protocol::StreamId FromProto(const v1::LogData& data) {
  return {FromProto(data.ref()), data.rank(), data.is_stderr()};
}

protocol::StreamId FromProto(const v1::LogEnd& end) {
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
  out.checkpoint_saved = data.checkpoint_saved();
  return out;
}

// ---- reports, by their kind
namespace {

protocol::AttemptHalted ToReport(const v1::AttemptHalted& halted) {
  return {FromProto(halted.ref()), ToHalt(halted.has_halt(), halted.halt(), "")};
}

protocol::AttemptReturned ToReport(const v1::AttemptReturned& returned) {
  return {FromProto(returned.ref()),
          ToHalt(returned.has_halt(), returned.halt(), returned.lost_reason()), returned.killed()};
}

protocol::RankEnded ToReport(const v1::RankEnded& ended) {
  return {FromProto(ended.ref()), ended.rank(), FromProto(ended.exit()), AgesOf(ended)};
}

protocol::Doubted ToReport(const v1::Doubted& doubted) {
  return {FromProto(doubted.ref()), {FromMicros(doubted.asked_us())}};
}

protocol::Recalled ToReport(const v1::Recalled& recalled) {
  const std::string error = Words(recalled.error());
  return {FromProto(recalled.ref()), recalled.node(),
          error.empty() ? absl::OkStatus() : absl::UnavailableError(error)};
}

protocol::OwnerChanged ToReport(const v1::OwnerChanged& change) {
  return {change.reclaimed(), TimeLeft(change.for_ms()), Words(change.reason()),
          FromMillis(change.grace_ms())};
}

protocol::Started ToReport(const v1::Started& started) {
  protocol::Started out{FromProto(started.ref()), {}};
  for (const v1::HeldRank& rank : started.ranks()) out.ranks.push_back(ToHeldRank(rank));
  return out;
}

protocol::Heartbeat ToReport(const v1::Heartbeat& heartbeat) {
  protocol::Heartbeat out;
  for (const v1::RankDoing& one : heartbeat.doing()) {
    out.doing.push_back({FromProto(one.ref()), one.rank(), Words(one.text())});
  }
  for (const v1::PeerSilence& one : heartbeat.silences()) {
    out.silences.push_back({FromProto(one.ref()), Words(one.address()), one.port(),
                            FromMicros(one.lasts_us()), Words(one.error())});
  }
  return out;
}

protocol::RendezvousReport ToReport(const v1::Rendezvous& rendezvous) {
  protocol::RendezvousReport out;
  out.ref = FromProto(rendezvous.ref());
  for (const v1::Rendezvous::Arrival& arrival : rendezvous.arrivals()) {
    out.arrivals.push_back({Words(arrival.address()), arrival.pid()});
  }
  out.blocked_key = Words(rendezvous.blocked_key());
  out.waiting = rendezvous.waiting();
  if (rendezvous.has_refusal()) {
    const v1::Rendezvous::Refusal& refusal = rendezvous.refusal();
    out.refusal = {refusal.account(), refusal.ranks_account()};
  }
  return out;
}

protocol::Leaving ToReport(const v1::Leaving& leaving) {
  return {CleanText(leaving.reason(), kMaxReason), leaving.stays_on()};
}

protocol::SleepFailed ToReport(const v1::SleepFailed& failed) {
  return {CleanText(failed.error(), kMaxReason)};
}

}  // namespace

std::optional<protocol::NodeReport> ReportOf(const v1::WorkerMessage& message) {
  switch (message.message_case()) {
    case v1::WorkerMessage::kHeartbeat:
      return ToReport(message.heartbeat());
    case v1::WorkerMessage::kInventory:
      return FromProto(message.inventory());
    case v1::WorkerMessage::kOwnerChanged:
      return ToReport(message.owner_changed());
    case v1::WorkerMessage::kLeaving:
      return ToReport(message.leaving());
    case v1::WorkerMessage::kHandingOver:
      return protocol::HandingOver{};
    case v1::WorkerMessage::kSleepFailed:
      return ToReport(message.sleep_failed());
    case v1::WorkerMessage::kPrepared:
      return FromProto(message.prepared());
    case v1::WorkerMessage::kStarted:
      return ToReport(message.started());
    case v1::WorkerMessage::kRankEnded:
      return ToReport(message.rank_ended());
    case v1::WorkerMessage::kAttemptHalted:
      return ToReport(message.attempt_halted());
    case v1::WorkerMessage::kAttemptReturned:
      return ToReport(message.attempt_returned());
    case v1::WorkerMessage::kDoubted:
      return ToReport(message.doubted());
    case v1::WorkerMessage::kRecalled:
      return ToReport(message.recalled());
    case v1::WorkerMessage::kRendezvous:
      return ToReport(message.rendezvous());
    default:
      return std::nullopt;
  }
}

v1::CoordinatorMessage ToProto(const protocol::CoordinatorMessage& message) {
  v1::CoordinatorMessage out;
  std::visit(Writer{&out}, message);
  return out;
}

}  // namespace hpc::coordinator
