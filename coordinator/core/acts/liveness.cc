#include "coordinator/core/acts/liveness.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "coordinator/core/acts/reconcile.h"
#include "coordinator/core/acts/spares_ready.h"
#include "coordinator/core/policy/fence.h"
#include "coordinator/core/policy/node_choice.h"
#include "coordinator/core/policy/node_words.h"
#include "coordinator/core/policy/reconnect_grace.h"

namespace hpc::coordinator {
namespace {

// If an alarm is late by more than this, the coordinator has stood still.
constexpr absl::Duration kStandstill = absl::Seconds(2);

// After a shorter delay than that, the coordinator first reads for a while what has come meanwhile.
constexpr absl::Duration kLate = absl::Milliseconds(100);
constexpr absl::Duration kReading = absl::Milliseconds(300);

// A coordinator that crashed knows to within this time when its nodes were last heard.
constexpr absl::Duration kSaveSeen = absl::Minutes(5);

std::string DevicesWords(const protocol::Inventory& inventory) {
  const NodeSpace space = EmptySpace("", inventory);
  return space.gpus > 0 ? Count(space.gpus, "GPU") : Count(space.slots, "CPU slot");
}

}  // namespace

absl::Status Liveness::CheckFree(const Node& node, const protocol::Hello& hello,
                                 MonoTime now) const {
  if (!node.connected() || node.incarnation == hello.incarnation) return absl::OkStatus();
  if (node.lease.deadline() <= now) return absl::OkStatus();
  // A PC that has restarted cannot have two live workers.
  if (node.record.boot_id != hello.boot_id && node.record.address == hello.address) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat("a worker named ", hello.node, " is connected from ", node.record.address,
                   "; stop that one, or give this one (", hello.address, ") a name of its own"));
}

absl::StatusOr<protocol::Welcome> Liveness::Hello(Turn& turn, const protocol::Hello& hello) {
  HPC_RETURN_IF_ERROR(CheckNodeName(hello.node));
  Node* node = state_->nodes.Find(hello.node);
  const bool is_new = node == nullptr;
  if (is_new) {
    NodeRecord record;
    record.name = hello.node;
    record.first_seen = turn.wall();
    node = state_->nodes.Add(record);
  }
  HPC_RETURN_IF_ERROR(CheckFree(*node, hello, turn.mono()));
  NodeRecord& record = node->record;
  node->silence_before = node->Silence(turn.now());
  // A worker that connects again found its connection dead.
  if (node->seen() && node->incarnation == hello.incarnation &&
      state_->pauses.WorkedAfter(node->lease.heard() + kReading, turn.mono())) {
    node->held_up = node->silence_before;
  }
  const bool rebooted = !record.boot_id.empty() && record.boot_id != hello.boot_id;
  record.address = hello.address;
  record.inventory = hello.inventory;
  record.boot_id = hello.boot_id;
  record.last_seen = turn.wall();
  record.revoked.clear();  // it has a new certificate
  Greet(turn, node, hello, is_new, rebooted);
  const FenceTimes times(state_->options.lease);
  return protocol::Welcome{state_->options.lease, state_->options.heartbeat_interval,
                           state_->options.stop_after_disconnect, times.contact, times.vouch};
}

void Liveness::Greet(Turn& turn, Node* node, const protocol::Hello& hello, bool is_new,
                     bool rebooted) {
  const absl::Duration silent = turn.mono() - node->lease.heard();
  const bool was_seen = node->seen();
  node->Connect();
  node->CameBack(turn.mono());
  node->incarnation = hello.incarnation;
  node->can_vouch = hello.can_vouch;
  node->hands_over = false;
  if (rebooted) node->clock.Restart();
  node->clock.Untold();
  if (hello.said) node->clock.Take({*hello.said}, turn.mono());
  node->lease.Renew(turn.mono());
  state_->timers.Set(Alarm::kLease, node->number, node->lease.deadline());
  const std::string has = absl::StrCat(hello.address, ", ", DevicesWords(hello.inventory));
  if (is_new) {
    turn.Event(event::kNodeJoined, About(node->name()), absl::StrCat("joined from ", has));
  } else {
    std::string text = absl::StrCat("connected from ", has);
    if (rebooted) absl::StrAppend(&text, "; it has restarted");
    if (hello.resumed) absl::StrAppend(&text, "; it was suspended");
    if (was_seen) absl::StrAppend(&text, "; not heard for ", HumanDuration(silent));
    turn.Event(event::kNodeConnected, About(node->name()), text);
  }
  turn.Save(node->record);
  state_->capacity_changed = true;
  // Those orders were meant for the previous connection. This greeting tells the node how things
  // stand.
  turn.Untell(node->name());
  gangs_->lost_nodes().ForgetPromises(*node);
  // The order matters: an owner's wish explains why attempts ended there, and attempts that wait
  // for the node to wake must not be taken for attempts that it has lost.
  owners_->Greet(turn, node, hello);
  Reconcile(turn, state_, gangs_, starter_, node, rebooted, hello.attempts);
  power_->Back(turn, node, rebooted || hello.resumed);
}

absl::StatusOr<Node*> Liveness::Heard(Now now, const Session& session) {
  Node* node = state_->nodes.Find(session.node);
  if (node == nullptr || !node->connected()) {
    return absl::FailedPreconditionError(
        absl::StrCat(session.node, " is not connected: say hello first"));
  }
  if (!node->Speaks(session)) {
    return absl::FailedPreconditionError(absl::StrCat("wrong incarnation: ", session.node, " said ",
                                                      session.incarnation, ", connected is ",
                                                      node->incarnation));
  }
  node->lease.Renew(now.mono);
  node->record.last_seen = now.wall;
  return node;
}

void Liveness::Disconnected(Turn& turn, Node* node, bool reset) {
  node->Disconnect();
  gangs_->lost_nodes().Doubt(turn, node);
  if (power_->Gone(turn, node)) return state_->timers.Stop(Alarm::kLease, node->number);
  if (reset) node->lease.Reset(turn.mono(), GraceOf(turn, *node));
  state_->timers.Set(Alarm::kLease, node->number, node->lease.deadline());
  turn.Save(node->record);
  turn.Event(event::kNodeDisconnected, About(node->name()), NodeReason(*node, turn.now()),
             Severity::kWarning);
  // A PC that goes down sends SIGTERM to all of its processes, and its worker may not get to say
  // so.
  gangs_->GoesDown(
      turn, node,
      ClusterCause(
          AttemptOutcome::kNodeLost, node->name(), node->Silence(turn.now()),
          absl::StrCat(node->name(), " seems to be going down: its worker went away as well")));
}

void Liveness::Leaving(Turn& turn, Node* node, const protocol::Leaving& leaving) {
  const std::string& reason = leaving.reason;
  power_->Leaving(turn, node, leaving);
  gangs_->NodeGone(
      turn, node, AttemptOutcome::kReclaimed,
      absl::StrCat(node->name(), " said that it is leaving", reason.empty() ? "" : ": ", reason));
}

void Liveness::SaveSeen(Turn& turn) {
  state_->seen_saved = turn.mono();
  for (const auto& [name, node] : state_->nodes.by_name()) {
    if (node->connected()) turn.Save(node->record);
  }
}

void Liveness::InventoryChanged(Turn& turn, Node* node, const protocol::Inventory& inventory) {
  if (node->record.inventory == inventory) return;
  const bool devices = node->record.inventory.devices != inventory.devices;
  node->record.inventory = inventory;
  turn.Save(node->record);
  if (!devices) return;
  state_->capacity_changed = true;
  turn.Event(event::kNodeChanged, About(node->name()),
             absl::StrCat("has ", DevicesWords(inventory), " now"), Severity::kWarning);
}

void Liveness::OnTimer(Turn& turn, Node* node) {
  if (node->lost()) return;
  if (turn.mono() < node->lease.deadline()) {
    if (turn.mono() - state_->seen_saved >= kSaveSeen) SaveSeen(turn);
    return state_->timers.Set(Alarm::kLease, node->number, node->lease.deadline());
  }
  if (turn.mono() >= node->lease.deadline() + kStandstill) {
    // What the node said meanwhile is still unread, and the node took it for heard.
    node->lease.Renew(turn.mono());
    return state_->timers.Set(Alarm::kLease, node->number, node->lease.deadline());
  }
  const bool stood_still = turn.mono() >= node->lease.deadline() + kLate ||
                           state_->pauses.EndedWithin(kReading, turn.mono());
  if (stood_still && node->lease.LookAgain(turn.mono(), kReading)) {
    return state_->timers.Set(Alarm::kLease, node->number, node->lease.deadline());
  }
  // The spares that stood ready may be gone or taken by now.
  const auto grace = node->lease.reset_grace();
  if (grace && *grace < GraceOf(turn, *node)) {
    node->lease.ProlongReset(GraceOf(turn, *node));
    return state_->timers.Set(Alarm::kLease, node->number, node->lease.deadline());
  }
  node->Disconnect();
  if (!power_->Gone(turn, node)) Lost(turn, node);
}

absl::Duration Liveness::GraceOf(const Turn& turn, const Node& node) {
  return ReconnectGrace(state_->options, node.hands_over,
                        SparesStandReady(*state_, turn.now(), node));
}

std::string Liveness::WhyLost(const Turn& turn, const Node& node) const {
  if (!node.seen()) {
    return absl::StrCat(node.name(), " did not come back after the coordinator's restart");
  }
  if (const auto grace = node.lease.reset_grace()) {
    return absl::StrCat("the worker of ", node.name(),
                        " is gone: it closed its connection and was not back within the reconnect ",
                        "grace of ", HumanDuration(*grace));
  }
  return absl::StrCat("nothing heard from ", node.name(), " for ",
                      HumanDuration(turn.mono() - node.lease.heard()));
}

void Liveness::Lost(Turn& turn, Node* node) {
  node->Lose();
  node->WentAway(turn.mono());
  const std::string why = WhyLost(turn, *node);
  power_->Lost(turn, node);
  turn.Save(node->record);
  turn.Event(event::kNodeLost, About(node->name()), why, Severity::kError);
  gangs_->NodeGone(turn, node, AttemptOutcome::kNodeLost, why);
}

void Liveness::Restore(Turn& turn, Node* node) {
  node->lease.Grant(turn.mono(), kReconnectAllowance);
  const Power power = node->record.power;
  if (power == Power::kOn || power == Power::kDraining) {
    return state_->timers.Set(Alarm::kLease, node->number, node->lease.deadline());
  }
  gangs_->NodeGone(turn, node, AttemptOutcome::kReclaimed,
                   absl::StrCat(node->name(), " is ", Name(power)));
}

}  // namespace hpc::coordinator
