#include "coordinator/core/acts/power.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {
namespace {

// When packets are sent, counted from the first. A packet may be lost, and some network cards need
// a moment after the PC is switched off.
constexpr std::array<absl::Duration, 5> kPacketTimes = {
    absl::ZeroDuration(), absl::Seconds(1), absl::Seconds(3), absl::Seconds(10), absl::Seconds(30)};

// The grace for ranks on a node that is to sleep: nobody is waiting at that PC.
constexpr absl::Duration kDrainGrace = absl::Seconds(30);

// A PC that is still heard this long after it said that it goes has not gone: logind suspends
// within 5 s.
constexpr absl::Duration kGoes = absl::Seconds(10);

}  // namespace

void PowerControl::Set(Turn& turn, Node* node, Power power, std::string reason) {
  node->record.power = power;
  node->record.reason = std::move(reason);
  node->power_since = turn.mono();
  if (power == Power::kOn) node->CameBack(turn.mono());
  turn.Save(node->record);
  state_->timers.Stop(Alarm::kPower, node->number);
  state_->capacity_changed = true;
}

absl::Status PowerControl::Sleep(Turn& turn, Node* node, const std::string& who) {
  const Power power = node->record.power;
  if (power == Power::kDraining || power == Power::kFallingAsleep) {
    node->NotWakeOnceOff();
    return absl::OkStatus();
  }
  if (power == Power::kOff) {
    return absl::FailedPreconditionError(absl::StrCat(node->name(), " is off already"));
  }
  if (power != Power::kOn || !node->connected()) {
    return absl::FailedPreconditionError(
        absl::StrCat(node->name(), " cannot be put to sleep: it is ",
                     power != Power::kOn ? Name(power) : "not connected"));
  }
  if (node->record.reclaimed) {
    return absl::FailedPreconditionError(
        absl::StrCat(node->name(), " cannot be put to sleep: its owner has taken it back",
                     node->record.reclaim_reason.empty() ? "" : ": ", node->record.reclaim_reason));
  }
  if (const std::string& trouble = node->record.inventory.sleep_trouble; !trouble.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(node->name(), " cannot be put to sleep: ", trouble,
                     " (asked when its worker started). hpc-worker --power-command gives it "
                     "another way to sleep"));
  }
  const std::string why = DoneBy("asked to sleep", who);
  Set(turn, node, Power::kDraining, why);
  std::string text = why;
  if (!node->holdings.empty()) {
    absl::StrAppend(&text, "; stops ", Count(static_cast<int64_t>(node->holdings.size()), "run"),
                    " there first");
  }
  turn.Event(event::kNodeSleep, About(node->name()), text);
  for (const Holding& holding : node->holdings) {
    Run* run = state_->runs.Find(holding.ref.run);
    if (run == nullptr) continue;
    run->record.leave_asleep.push_back(node->name());
    turn.Save(run->record);
  }
  const std::string goes = absl::StrCat(node->name(), " goes to sleep");
  gangs_->StopAllOn(turn, *node, OrderedCause(AttemptOutcome::kReclaimed, turn.mono(), goes),
                    kDrainGrace);
  DevicesReturned(turn, node);
  return absl::OkStatus();
}

void PowerControl::DevicesReturned(Turn& turn, Node* node) {
  if (node->record.power != Power::kDraining || !node->holdings.empty()) return;
  if (!node->connected()) return;
  const std::string reason = node->record.reason;
  Set(turn, node, Power::kFallingAsleep, reason);
  turn.Tell(node->name(), protocol::GoToSleep{reason});
  state_->timers.Set(Alarm::kPower, node->number, turn.mono() + state_->options.sleep_timeout);
}

absl::Status PowerControl::Wake(Turn& turn, Node* node, const std::string& who) {
  const std::string why = DoneBy("asked to wake", who);
  if (node->ShutOut()) {
    return absl::FailedPreconditionError(absl::StrCat(
        node->name(), " is shut out, its certificate was ", node->record.revoked,
        ": a token for its name lets it in again (hpcctl token create --name ", node->name(), ")"));
  }
  node->MayBeWoken();
  switch (node->record.power) {
    case Power::kDraining:
      Set(turn, node, Power::kOn);
      turn.Event(event::kNodeWake, About(node->name()), why + "; it had not gone to sleep yet");
      return absl::OkStatus();
    case Power::kFallingAsleep:
      node->wake_plan = WakePlan::kOnceOff;
      node->wake_reason = why;
      turn.Event(event::kNodeWake, About(node->name()), why + "; waits until it is off");
      return absl::OkStatus();
    case Power::kWaking:
      return absl::OkStatus();
    case Power::kOn:
      if (node->connected()) {
        return absl::FailedPreconditionError(absl::StrCat(node->name(), " is on already"));
      }
      break;
    case Power::kStopped:
      return absl::FailedPreconditionError(absl::StrCat(
          node->name(), " cannot be woken: its worker was stopped there, and the PC may be on. ",
          "Start it there (systemctl start hpc-worker)"));
    case Power::kOff:
      break;
  }
  if (!node->CanWake()) {
    return absl::FailedPreconditionError(
        absl::StrCat(node->name(),
                     " is off and cannot be woken: its worker reported neither a "
                     "network interface with a MAC address nor a wake hook"));
  }
  StartWaking(turn, node, why);
  return absl::OkStatus();
}

void PowerControl::WakeFor(Turn& turn, Node* node, RunId run) {
  if (node->record.power == Power::kOff) {
    StartWaking(turn, node, absl::StrCat("run ", run, " needs it"));
  }
}

void PowerControl::CallLost(Turn& turn, Node* node, RunId run) {
  const bool may = node->lost() && node->record.power == Power::kOn && node->holdings.empty() &&
                   node->CanWake() && !node->record.reclaimed && !node->ShutOut();
  if (!may || node->wake_packets > 0) return;
  turn.Event(
      event::kNodeWake, About(node->name()),
      absl::StrCat("run ", run, " needs it: it is lost, and may have fallen asleep by itself"));
  node->power_since = turn.mono();
  SendPacket(turn, node);
}

void PowerControl::StartWaking(Turn& turn, Node* node, const std::string& why) {
  Set(turn, node, Power::kWaking, why);
  turn.Event(event::kNodeWake, About(node->name()), why);
  node->wake_packets = 0;
  SendPacket(turn, node);
}

void PowerControl::SendPacket(Turn& turn, Node* node) {
  turn.Wake({node->name(), node->record.inventory.interfaces, node->wake_packets});
  ++node->wake_packets;
  AwaitWaking(turn, node);
}

MonoTime PowerControl::NextPacket(const Node& node) const {
  const size_t next = static_cast<size_t>(node.wake_packets);
  const absl::Duration limit = state_->options.wake_timeout;
  return node.power_since +
         (next < kPacketTimes.size() ? std::min(kPacketTimes[next], limit) : limit);
}

MonoTime PowerControl::StaysAt(const Node& node) const {
  return node.said_goes + (kGoes + state_->options.lease);
}

void PowerControl::AwaitWaking(Turn& turn, Node* node) {
  MonoTime at = NextPacket(*node);
  const MonoTime stays = StaysAt(*node);
  if (node->connected() && turn.mono() < stays) at = std::min(at, stays);
  state_->timers.Set(Alarm::kPower, node->number, at);
}

void PowerControl::WakeFailed(Turn& turn, Node* node) {
  const std::string why =
      absl::StrCat("did not wake within ", HumanDuration(turn.mono() - node->power_since),
                   " after ", Count(node->wake_packets, "packet"));
  node->wake_plan = WakePlan::kLeaveAlone;
  state_->timers.Set(Alarm::kLeaveAlone, node->number, turn.mono() + state_->options.wake_retry);
  Set(turn, node, Power::kOff, why);
  turn.Event(event::kNodeWakeFailed, About(node->name()), why, Severity::kWarning);
  gangs_->StopAllOn(
      turn, *node,
      OrderedCause(AttemptOutcome::kStartFailed, turn.mono(), absl::StrCat(node->name(), " ", why)),
      absl::ZeroDuration());
}

void PowerControl::Back(Turn& turn, Node* node, bool slept) {
  const Power was = node->record.power;
  const absl::Duration took = turn.mono() - node->power_since;
  node->MayBeWoken();
  // The node is told again to end whatever it has not ended yet.
  if (was == Power::kDraining && !slept) return DevicesReturned(turn, node);
  if (was == Power::kOn) {
    // The reason may not hold any more: the power command may have been replaced.
    if (!node->record.reason.empty()) Set(turn, node, Power::kOn);
    // A gang may have waited for another node to wake while this node's connection was broken.
    return starter_->NodeReady(turn, *node);
  }
  node->NotWakeOnceOff();
  if (was == Power::kStopped) {
    Set(turn, node, Power::kOn);
  } else if (was == Power::kWaking) {
    const std::string text =
        slept ? absl::StrCat("is awake, ", HumanDuration(took), " after the first packet")
              : "is here: it had not been off";
    Set(turn, node, Power::kOn);
    turn.Event(event::kNodeAwake, About(node->name()), text);
  } else if (slept) {
    Set(turn, node, Power::kOn);
    turn.Event(event::kNodeAwake, About(node->name()), "came back by itself");
  } else if (was == Power::kFallingAsleep) {
    StayedOn(turn, node, "was told to sleep, and is back without having slept");
  } else {
    Set(turn, node, Power::kOn);
    turn.Event(event::kNodeAwake, About(node->name()), "is here again: it had not been off");
  }
  starter_->NodeReady(turn, *node);
}

void PowerControl::Leaving(Turn& turn, Node* node, const protocol::Leaving& leaving) {
  const std::string& reason = leaving.reason;
  // A worker says that it leaves before its power command, and again when the command ends the
  // worker.
  const Power power = node->record.power;
  if (power == Power::kOff || power == Power::kWaking) return;
  // A worker that was told to sleep stops because of that.
  if (leaving.stays_on && power != Power::kFallingAsleep) {
    Set(turn, node, Power::kStopped,
        "its worker was stopped there (systemctl start hpc-worker starts it)");
    turn.Event(event::kNodeStopped, About(node->name()), reason);
    return;
  }
  const std::string why = reason.empty() ? "said that it is leaving"
                                         : absl::StrCat("said that it is leaving: ", reason);
  node->said_goes = turn.mono();
  TurnOff(turn, node, why);
  if (node->record.power != Power::kOff) return;  // it was wanted again at once
  // If the suspend fails, the connection stays open and the node continues to talk.
  state_->timers.Set(Alarm::kPower, node->number, StaysAt(*node));
}

void PowerControl::ShutOut(Turn& turn, Node* node) {
  node->NotWakeOnceOff();
  if (node->record.power != Power::kWaking) return;
  const std::string why = absl::StrCat("is shut out: its certificate was ", node->record.revoked);
  Set(turn, node, Power::kOff, why);
  gangs_->StopAllOn(
      turn, *node,
      OrderedCause(AttemptOutcome::kStartFailed, turn.mono(), absl::StrCat(node->name(), " ", why)),
      absl::ZeroDuration());
}

void PowerControl::Reclaimed(Turn& turn, Node* node) {
  if (node->record.power != Power::kDraining) return;
  StayedOn(turn, node, "does not go to sleep: its owner has taken it back");
}

void PowerControl::SleepFailed(Turn& turn, Node* node, const std::string& error) {
  // If the node is off or draining, it has been told to go in another way since then.
  const Power power = node->record.power;
  if (power != Power::kFallingAsleep && power != Power::kOn) return;
  const std::string why = absl::StrCat("could not be put to sleep: ", error);
  StayedOn(turn, node, why, why);
  starter_->NodeReady(turn, *node);
}

void PowerControl::StayedOn(Turn& turn, Node* node, const std::string& why,
                            const std::string& reason) {
  Set(turn, node, Power::kOn, reason);
  node->NotWakeOnceOff();
  turn.Event(event::kNodeSleepFailed, About(node->name()), why, Severity::kWarning);
}

bool PowerControl::Gone(Turn& turn, Node* node) {
  switch (node->record.power) {
    case Power::kOff:
    case Power::kWaking:
    case Power::kStopped:
      return true;
    case Power::kFallingAsleep:
      TurnOff(turn, node, "has gone to sleep");
      return true;
    case Power::kDraining:
    case Power::kOn:
      return false;
  }
  return false;
}

void PowerControl::Lost(Turn& turn, Node* node) {
  node->wake_packets = 0;
  state_->capacity_changed = true;  // a run that waits may need it
  if (node->record.power != Power::kDraining) return;
  StayedOn(turn, node, "was lost before it was free to go to sleep");
}

void PowerControl::TurnOff(Turn& turn, Node* node, const std::string& why) {
  Set(turn, node, Power::kOff, why);
  turn.Event(event::kNodeOff, About(node->name()), why);
  if (node->wake_plan != WakePlan::kOnceOff) return;
  node->NotWakeOnceOff();
  StartWaking(turn, node, node->wake_reason);
}

void PowerControl::OnTimer(Turn& turn, Node* node) {
  const MonoTime now = turn.mono();
  const bool still_here = node->connected() && now < node->lease.deadline();
  MonoTime since = node->said_goes;
  switch (node->record.power) {
    case Power::kWaking:
      // The node may have been wanted again before it was gone, and so never went.
      if (still_here && now >= StaysAt(*node)) break;
      if (now < NextPacket(*node)) return AwaitWaking(turn, node);
      if (now - node->power_since < state_->options.wake_timeout) return SendPacket(turn, node);
      return WakeFailed(turn, node);
    case Power::kFallingAsleep:
      if (!still_here) return TurnOff(turn, node, "has gone to sleep");
      since = node->power_since;
      break;
    case Power::kOff:
      if (!still_here) return;
      break;
    case Power::kOn:
      // It is called while a run needs it. What follows the last packet is up to the PC.
      if (!node->lost() || node->wake_packets == 0) return;
      if (static_cast<size_t>(node->wake_packets) < kPacketTimes.size()) SendPacket(turn, node);
      return;
    case Power::kDraining:
    case Power::kStopped:
      return;
  }
  StayedOn(turn, node,
           absl::StrCat("is still here ", HumanDuration(now - since), " after it was to sleep"));
  starter_->NodeReady(turn, *node);
}

void PowerControl::Restore(Turn& turn, Node* node) {
  switch (node->record.power) {
    case Power::kOn:
    case Power::kOff:
    case Power::kStopped:
    case Power::kDraining:
      return;
    case Power::kFallingAsleep:
      return Set(turn, node, Power::kOff, "was told to sleep before the coordinator restarted");
    case Power::kWaking:
      return StartWaking(turn, node,
                         "was being woken when the coordinator restarted, which begins again");
  }
}

}  // namespace hpc::coordinator
