#include "worker/link/convert.h"

#include <algorithm>

#include "absl/time/time.h"
#include "common/text.h"
#include "common/version.h"
#include "protocol/limits.h"

namespace hpc::worker {
namespace {

// On the wire, 0 means without a limit.
int64_t LimitMs(const std::optional<absl::Duration>& d) {
  return d ? std::max<int64_t>(1, absl::ToInt64Milliseconds(*d)) : 0;
}

std::optional<absl::Duration> Limit(int64_t ms) {
  return ms > 0 ? std::optional(absl::Milliseconds(ms)) : std::nullopt;
}

absl::Duration Span(int64_t ms) {
  return std::clamp(absl::Milliseconds(ms), absl::ZeroDuration(), protocol::kMaxSpan);
}

void Fill(AttemptRef ref, v1::AttemptRef* out) {
  out->set_run(ref.run);
  out->set_number(ref.number);
}

AttemptRef FromProto(const v1::AttemptRef& ref) { return {ref.run(), ref.number()}; }

template <typename Repeated>
void Fill(const protocol::KeyValues& pairs, Repeated* out) {
  for (const auto& [key, value] : pairs) {
    auto* one = out->Add();
    one->set_key(ToValidUtf8(key));
    one->set_value(ToValidUtf8(value));
  }
}

template <typename Repeated>
protocol::KeyValues Pairs(const Repeated& repeated) {
  protocol::KeyValues pairs;
  for (const auto& one : repeated) pairs.emplace_back(one.key(), one.value());
  return pairs;
}

// The words of a rank may be any bytes; a proto string may not.
void Fill(const protocol::RankExit& exit, v1::RankExit* out) {
  if (exit.exit_code) out->set_exit_code(*exit.exit_code);
  if (exit.signal) out->set_signal(*exit.signal);
  out->set_after_stop(exit.after_stop);
  out->set_message(ToValidUtf8(exit.message));
  out->set_traceback(ToValidUtf8(exit.traceback));
  out->set_catches_sigterm(exit.catches_sigterm);
  out->set_words_before_end_us(absl::ToInt64Microseconds(exit.words_before_end));
}

// `out` is a HeldRank or a RankEnded.
template <typename Message>
void FillAges(const protocol::RankAges& ago, Message* out) {
  out->set_started_ago_us(absl::ToInt64Microseconds(ago.started));
  out->set_ended_ago_us(absl::ToInt64Microseconds(ago.ended));
  out->set_ended_within_us(absl::ToInt64Microseconds(ago.ended_within));
  if (!ago.apart) return;
  out->mutable_apart()->set_from_us(absl::ToInt64Microseconds(ago.apart->from));
  out->mutable_apart()->set_until_us(absl::ToInt64Microseconds(ago.apart->until));
}

void Fill(const protocol::HeldRank& rank, v1::HeldRank* out) {
  out->set_rank(rank.rank);
  out->set_pid(rank.pid);
  if (rank.exit) Fill(*rank.exit, out->mutable_exit());
  FillAges(rank.ago, out);
}

// An older coordinator takes any reason given here for that of a lost node, so an owner's is left
// out.
std::string LostReason(const protocol::Halt& halt) {
  return halt.kind == protocol::HaltKind::kOwner ? "" : ToValidUtf8(halt.reason);
}

void Fill(const protocol::Halt& halt, v1::Halt* out) {
  out->set_kind(static_cast<v1::Halt::Kind>(halt.kind));
  out->set_reason(ToValidUtf8(halt.reason));
  out->set_ago_us(absl::ToInt64Microseconds(halt.ago));
  out->set_within_us(absl::ToInt64Microseconds(halt.within));
}

void Fill(const protocol::HeldAttempt& held, v1::HeldAttempt* out) {
  Fill(held.ref, out->mutable_ref());
  out->set_started(held.started);
  out->set_returned(held.returned);
  for (const protocol::HeldRank& rank : held.ranks) Fill(rank, out->add_ranks());
  if (held.halt.kind != protocol::HaltKind::kNone) Fill(held.halt, out->mutable_halt());
  out->set_lost_reason(LostReason(held.halt));
  out->set_store_lost(held.store_lost.has_value());
  if (held.store_lost) out->set_store_lost_ago_us(absl::ToInt64Microseconds(*held.store_lost));
  out->set_witnessed(held.witnessed);
  out->set_before_boot(held.before_boot);
}

v1::DeviceKind ToProto(protocol::DeviceKind kind) {
  return kind == protocol::DeviceKind::kGpu ? v1::DEVICE_KIND_GPU : v1::DEVICE_KIND_CPU_SLOT;
}

void Fill(const protocol::Device& device, v1::Device* out) {
  out->set_index(device.index);
  out->set_kind(ToProto(device.kind));
  out->set_uuid(device.uuid);
  out->set_name(ToValidUtf8(device.name));
  out->set_memory_bytes(device.memory_bytes);
  out->set_pci_bus_id(device.pci_bus_id);
}

void Fill(const protocol::NetworkInterface& interface, v1::NetworkInterface* out) {
  out->set_name(interface.name);
  out->set_address(interface.address);
  out->set_mac(interface.mac);
  out->set_speed_mbps(interface.speed_mbps);
  out->set_broadcast(interface.broadcast);
  out->set_wake_on_lan(static_cast<v1::NetworkInterface::WakeOnLan>(interface.wake_on_lan));
}

void Fill(const protocol::Inventory& inventory, v1::Inventory* out) {
  for (const protocol::Device& device : inventory.devices) Fill(device, out->add_devices());
  out->set_cores(inventory.cores);
  out->set_memory_bytes(inventory.memory_bytes);
  for (const protocol::Disk& disk : inventory.disks) {
    v1::Disk* one = out->add_disks();
    one->set_mount(ToValidUtf8(disk.mount));
    one->set_total_bytes(disk.total_bytes);
    one->set_free_bytes(disk.free_bytes);
  }
  for (const protocol::NetworkInterface& interface : inventory.interfaces)
    Fill(interface, out->add_interfaces());
  out->set_hostname(ToValidUtf8(inventory.hostname));
  out->set_os(ToValidUtf8(inventory.os));
  out->set_kernel(ToValidUtf8(inventory.kernel));
  out->set_driver(inventory.driver);
  out->set_gpu_trouble(ToValidUtf8(inventory.gpu_trouble));
  out->set_sleep_trouble(ToValidUtf8(inventory.sleep_trouble));
  out->set_worker_version(inventory.worker_version);
  out->set_can_wake_by_hook(inventory.can_wake_by_hook);
  for (const std::string& owner : inventory.owners) out->add_owners(owner);
}

void Fill(const protocol::StreamId& stream, v1::LogData* out) {
  Fill(stream.ref, out->mutable_ref());
  out->set_rank(stream.rank);
  out->set_is_stderr(stream.is_stderr);
}

void Fill(const protocol::StreamId& stream, v1::LogEnd* out) {
  Fill(stream.ref, out->mutable_ref());
  out->set_rank(stream.rank);
  out->set_is_stderr(stream.is_stderr);
}

// ---- one overload for each thing that is said

void Fill(const protocol::OwnerChanged& m, v1::WorkerMessage* out) {
  v1::OwnerChanged* one = out->mutable_owner_changed();
  one->set_reclaimed(m.reclaimed);
  one->set_for_ms(LimitMs(m.duration));
  one->set_reason(ToValidUtf8(m.reason));
  one->set_grace_ms(absl::ToInt64Milliseconds(m.grace));
}

void Fill(const protocol::HandingOver&, v1::WorkerMessage* out) { out->mutable_handing_over(); }

void Fill(const protocol::SleepFailed& m, v1::WorkerMessage* out) {
  out->mutable_sleep_failed()->set_error(ToValidUtf8(m.error));
}

void Fill(const protocol::Leaving& m, v1::WorkerMessage* out) {
  out->mutable_leaving()->set_reason(ToValidUtf8(m.reason));
  out->mutable_leaving()->set_stays_on(m.stays_on);
}

void Fill(const protocol::Prepared& m, v1::WorkerMessage* out) {
  v1::Prepared* one = out->mutable_prepared();
  Fill(m.ref, one->mutable_ref());
  one->set_error_code(static_cast<int32_t>(m.status.code()));
  one->set_error(ToValidUtf8(m.status.message()));
  one->set_store_addr(m.store_addr);
  one->set_store_port(m.store_port);
  one->set_store_client_ok(m.store_client_ok);
  one->set_recall_port(m.recall.port);
  one->set_recall_key(m.recall.key);
  one->set_recall_proof(m.recall.proof);
  for (const protocol::FoundCheckpoint& found : m.checkpoints) {
    v1::FoundCheckpoint* checkpoint = one->add_checkpoints();
    checkpoint->set_name(ToValidUtf8(found.name));
    checkpoint->set_age_ms(absl::ToInt64Milliseconds(found.age));
  }
}

void Fill(const protocol::Started& m, v1::WorkerMessage* out) {
  v1::Started* one = out->mutable_started();
  Fill(m.ref, one->mutable_ref());
  for (const protocol::HeldRank& rank : m.ranks) Fill(rank, one->add_ranks());
}

void Fill(const protocol::RankEnded& m, v1::WorkerMessage* out) {
  v1::RankEnded* one = out->mutable_rank_ended();
  Fill(m.ref, one->mutable_ref());
  one->set_rank(m.rank);
  Fill(m.exit, one->mutable_exit());
  FillAges(m.ago, one);
}

void Fill(const protocol::Doubted& m, v1::WorkerMessage* out) {
  v1::Doubted* one = out->mutable_doubted();
  Fill(m.ref, one->mutable_ref());
  one->set_asked_us(absl::ToInt64Microseconds(m.asked.since_zero));
}

void Fill(const protocol::Recalled& m, v1::WorkerMessage* out) {
  v1::Recalled* one = out->mutable_recalled();
  Fill(m.ref, one->mutable_ref());
  one->set_node(m.node);
  if (!m.status.ok()) one->set_error(ToValidUtf8(m.status.message()));
}

void Fill(const protocol::AttemptHalted& m, v1::WorkerMessage* out) {
  v1::AttemptHalted* one = out->mutable_attempt_halted();
  Fill(m.ref, one->mutable_ref());
  Fill(m.halt, one->mutable_halt());
}

void Fill(const protocol::AttemptReturned& m, v1::WorkerMessage* out) {
  v1::AttemptReturned* one = out->mutable_attempt_returned();
  Fill(m.ref, one->mutable_ref());
  if (m.halt.kind != protocol::HaltKind::kNone) Fill(m.halt, one->mutable_halt());
  one->set_lost_reason(LostReason(m.halt));
  one->set_killed(m.killed);
}

void Fill(const protocol::EnvironmentReport& m, v1::WorkerMessage* out) {
  v1::Environment* one = out->mutable_environment();
  Fill(m.ref, one->mutable_ref());
  Fill(m.facts, one->mutable_facts());
  Fill(m.added, one->mutable_added());
}

void Fill(const protocol::RendezvousReport& m, v1::WorkerMessage* out) {
  v1::Rendezvous* one = out->mutable_rendezvous();
  Fill(m.ref, one->mutable_ref());
  for (const protocol::RendezvousReport::Arrival& arrival : m.arrivals) {
    v1::Rendezvous::Arrival* a = one->add_arrivals();
    a->set_address(arrival.address);
    a->set_pid(arrival.pid);
  }
  one->set_blocked_key(ToValidUtf8(m.blocked_key));
  one->set_waiting(m.waiting);
  if (!m.refusal) return;
  one->mutable_refusal()->set_account(m.refusal->account);
  one->mutable_refusal()->set_ranks_account(m.refusal->ranks_account);
}

void Fill(const protocol::LogData& m, v1::WorkerMessage* out) {
  v1::LogData* one = out->mutable_log_data();
  Fill(m.stream, one);
  one->set_offset(m.offset);
  one->set_data(m.data);
}

void Fill(const protocol::LogEnd& m, v1::WorkerMessage* out) {
  v1::LogEnd* one = out->mutable_log_end();
  Fill(m.stream, one);
  one->set_cut_bytes(m.cut_bytes);
}

void Fill(const protocol::MetricData& m, v1::WorkerMessage* out) {
  v1::MetricData* one = out->mutable_metric_data();
  Fill(m.ref, one->mutable_ref());
  one->set_rank(m.rank);
  one->set_end_offset(m.end_offset);
  for (const protocol::MetricPoint& point : m.points) {
    v1::MetricData::Point* p = one->add_points();
    p->set_key(point.key);
    p->set_step(point.step);
    p->set_value(point.value);
    p->set_age_us(absl::ToInt64Microseconds(point.age));
  }
  for (const std::string& remark : m.remarks) one->add_remarks(ToValidUtf8(remark));
  one->set_ended(m.ended);
  one->set_checkpoint_saved(m.checkpoint_saved);
}

// ---- one overload for each thing that is heard

protocol::Welcome FromProto(const v1::Welcome& m) {
  protocol::Welcome welcome;
  if (m.lease_ms() > 0) welcome.lease = Span(m.lease_ms());
  if (m.heartbeat_interval_ms() > 0) {
    welcome.heartbeat_interval = Span(m.heartbeat_interval_ms());
  }
  if (m.stop_after_disconnect_ms() > 0) {
    welcome.stop_after_disconnect = Span(m.stop_after_disconnect_ms());
  }
  if (m.contact_limit_ms() > 0) welcome.contact_limit = Span(m.contact_limit_ms());
  if (m.vouch_limit_ms() > 0) welcome.vouch_limit = Span(m.vouch_limit_ms());
  return welcome;
}

protocol::LaunchMode FromProto(v1::LaunchMode mode) {
  switch (mode) {
    case v1::LAUNCH_MODE_PER_NODE:
      return protocol::LaunchMode::kPerNode;
    case v1::LAUNCH_MODE_SLURM:
      return protocol::LaunchMode::kSlurm;
    default:
      return protocol::LaunchMode::kTorchrun;
  }
}

protocol::StoreHost FromProto(v1::StoreHost host) {
  switch (host) {
    case v1::STORE_HOST_WORKER:
      return protocol::StoreHost::kWorker;
    case v1::STORE_HOST_RANK0:
      return protocol::StoreHost::kRank0;
    default:
      return protocol::StoreHost::kAuto;
  }
}

protocol::StopSignal FromProto(v1::StopSignal signal) {
  switch (signal) {
    case v1::STOP_SIGNAL_TERM:
      return protocol::StopSignal::kTerm;
    case v1::STOP_SIGNAL_INT:
      return protocol::StopSignal::kInt;
    case v1::STOP_SIGNAL_HUP:
      return protocol::StopSignal::kHup;
    case v1::STOP_SIGNAL_QUIT:
      return protocol::StopSignal::kQuit;
    case v1::STOP_SIGNAL_USR1:
      return protocol::StopSignal::kUsr1;
    case v1::STOP_SIGNAL_USR2:
      return protocol::StopSignal::kUsr2;
    default:
      return protocol::StopSignal::kAuto;
  }
}

protocol::LegacyLocalRank FromProto(v1::LegacyLocalRank legacy) {
  switch (legacy) {
    case v1::LEGACY_LOCAL_RANK_DASH:
      return protocol::LegacyLocalRank::kDash;
    case v1::LEGACY_LOCAL_RANK_UNDERSCORE:
      return protocol::LegacyLocalRank::kUnderscore;
    default:
      return protocol::LegacyLocalRank::kNone;
  }
}

protocol::Prepare FromProto(const v1::Prepare& m) {
  protocol::Prepare out;
  out.ref = FromProto(m.ref());
  out.node_rank = m.node_rank();
  out.devices.assign(m.devices().begin(), m.devices().end());
  out.first_rank = m.first_rank();
  out.ranks = m.ranks();
  out.world_size = m.world_size();
  for (const v1::Peer& peer : m.peers()) {
    out.peers.push_back({peer.node(), peer.address(), peer.first_rank(), peer.ranks()});
  }
  out.mode = FromProto(m.mode());
  out.store_host = FromProto(m.store_host());
  out.restart_count = m.restart_count();
  out.max_restarts = m.max_restarts();
  out.stop_grace = Span(m.stop_grace_ms());
  out.run_name = m.run_name();
  out.experiment = m.experiment();
  out.command.assign(m.command().begin(), m.command().end());
  out.workdir = m.workdir();
  out.env = Pairs(m.env());
  out.legacy_local_rank = FromProto(m.legacy_local_rank());
  out.stop_signal = FromProto(m.stop_signal());
  if (m.has_umask()) out.umask = m.umask();
  out.warm =
      m.warm() == v1::WARM_START_OFF ? protocol::WarmStart::kOff : protocol::WarmStart::kAuto;
  out.params = Pairs(m.params());
  out.user = m.user();
  return out;
}

}  // namespace

v1::WorkerMessage ToProto(const protocol::Hello& hello) {
  v1::WorkerMessage message;
  if (hello.said) message.set_said_us(absl::ToInt64Microseconds(*hello.said));
  v1::Hello* out = message.mutable_hello();
  out->set_protocol_version(kProtocolVersion);
  out->set_node(hello.node);
  out->set_incarnation(hello.incarnation);
  out->set_boot_id(hello.boot_id);
  out->set_resumed(hello.resumed);
  out->set_address(hello.address);
  Fill(hello.inventory, out->mutable_inventory());
  out->set_can_vouch(hello.can_vouch);
  out->set_takes_more(true);
  out->set_owner_changed(hello.owner_changed);
  out->set_reclaimed(hello.reclaimed);
  out->set_reclaim_left_ms(LimitMs(hello.reclaim_left));
  out->set_reclaim_reason(ToValidUtf8(hello.reclaim_reason));
  for (const protocol::HeldAttempt& held : hello.attempts) Fill(held, out->add_attempts());
  return message;
}

v1::WorkerMessage ToProto(const protocol::WorkerMessage& message) {
  v1::WorkerMessage out;
  std::visit([&](const auto& one) { Fill(one, &out); }, message);
  return out;
}

v1::WorkerMessage HeartbeatToProto(const std::vector<DeviceUsage>& usage,
                                   const protocol::Heartbeat& beat, const BeatTimes& times,
                                   bool answer_may_wait) {
  v1::WorkerMessage message;
  message.set_said_us(times.sent_us);
  v1::Heartbeat* out = message.mutable_heartbeat();
  out->set_sent_us(times.sent_us);
  out->set_heard_us(times.heard_us);
  out->set_heard_at_us(times.heard_at_us);
  out->set_answer_may_wait(answer_may_wait);
  for (const protocol::PeerSilence& one : beat.silences) {
    v1::PeerSilence* silence = out->add_silences();
    Fill(one.ref, silence->mutable_ref());
    silence->set_address(one.address);
    silence->set_port(one.port);
    silence->set_lasts_us(absl::ToInt64Microseconds(one.lasts));
    silence->set_error(ToValidUtf8(one.error));
  }
  for (const protocol::RankDoing& one : beat.doing) {
    v1::RankDoing* rank = out->add_doing();
    Fill(one.ref, rank->mutable_ref());
    rank->set_rank(one.rank);
    rank->set_text(one.text);
  }
  for (const DeviceUsage& device : usage) {
    v1::DeviceUsage* one = out->add_usage();
    one->set_index(device.index);
    if (device.utilisation_percent) one->set_utilisation_percent(*device.utilisation_percent);
    one->set_memory_used_bytes(device.memory_used_bytes);
    for (const DeviceProcess& process : device.processes) {
      v1::DeviceProcess* p = one->add_processes();
      p->set_pid(process.pid);
      p->set_graphics(process.graphics);
      p->set_memory_bytes(process.memory_bytes);
      p->set_command(ToValidUtf8(process.command));
    }
  }
  return message;
}

v1::WorkerMessage ToProto(const protocol::Inventory& inventory) {
  v1::WorkerMessage message;
  Fill(inventory, message.mutable_inventory());
  return message;
}

protocol::SetOwner FromProto(const v1::SetOwner& m) {
  protocol::SetOwner owner{m.reclaimed(), Limit(m.left_ms()), m.reason()};
  if (m.has_grace_ms()) owner.grace = Span(m.grace_ms());
  return owner;
}

std::optional<protocol::CoordinatorMessage> FromProto(const v1::CoordinatorMessage& m) {
  switch (m.message_case()) {
    case v1::CoordinatorMessage::kWelcome:
      return FromProto(m.welcome());
    case v1::CoordinatorMessage::kPrepare:
      return FromProto(m.prepare());
    case v1::CoordinatorMessage::kStart:
      return protocol::Start{FromProto(m.start().ref()), m.start().master_addr(),
                             m.start().master_port(), FromProto(m.start().store_host()),
                             m.start().witnessed()};
    case v1::CoordinatorMessage::kDoubt:
      return protocol::Doubt{FromProto(m.doubt().ref()),
                             absl::Milliseconds(m.doubt().span_ms()),
                             {absl::Microseconds(m.doubt().asked_us())}};
    case v1::CoordinatorMessage::kHeard:
      return protocol::Heard{{absl::Microseconds(m.heard().sent_us())}};
    case v1::CoordinatorMessage::kRecall:
      return protocol::Recall{FromProto(m.recall().ref()),
                              m.recall().node(),
                              m.recall().address(),
                              {m.recall().port(), m.recall().key(), m.recall().proof()},
                              Span(m.recall().grace_ms())};
    case v1::CoordinatorMessage::kStop:
      return protocol::Stop{FromProto(m.stop().ref()), Span(m.stop().grace_ms()), m.stop().reason(),
                            m.stop().interrupt()};
    case v1::CoordinatorMessage::kForget:
      return protocol::Forget{FromProto(m.forget().ref())};
    case v1::CoordinatorMessage::kSetOwner:
      return FromProto(m.set_owner());
    case v1::CoordinatorMessage::kGoToSleep:
      return protocol::GoToSleep{m.go_to_sleep().reason()};
    case v1::CoordinatorMessage::kLogAck:
      return protocol::LogAck{
          {FromProto(m.log_ack().ref()), m.log_ack().rank(), m.log_ack().is_stderr()},
          m.log_ack().offset()};
    case v1::CoordinatorMessage::kMetricAck:
      return protocol::MetricAck{FromProto(m.metric_ack().ref()), m.metric_ack().rank(),
                                 m.metric_ack().end_offset()};
    case v1::CoordinatorMessage::MESSAGE_NOT_SET:
      break;
  }
  return std::nullopt;
}

}  // namespace hpc::worker
