#include "tests/sim/watch.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "tests/sim/machines/worker.h"

namespace hpc::sim {

namespace co = hpc::coordinator;

namespace {

// The grace that a worker gives by itself, the kernel's time, and one look of ours.
constexpr absl::Duration kYield = absl::Seconds(10 + 2 + 2);
// No message is late by more than this.
constexpr absl::Duration kTalk = absl::Seconds(12);

bool WorkerRuns(Pc& pc) { return pc.on() && pc.worker() != nullptr && !pc.worker()->frozen(); }

}  // namespace

void Watch::Look(const Coordinator* coordinator) {
  for (const auto& pc : *pcs_) LookAt(*pc, coordinator);
  if (coordinator != nullptr && coordinator->settled()) CheckWaiting(*coordinator);
}

void Watch::LookAt(Pc& pc, const Coordinator* coordinator) {
  Seen& seen = seen_[pc.name()];
  CheckReclaimed(pc, &seen);
  CheckAgreement(pc, coordinator, &seen);
}

// Whoever took the PC back, its worker sees to it, with or without a coordinator.
void Watch::CheckReclaimed(Pc& pc, Seen* seen) {
  const bool holds = WorkerRuns(pc) && pc.worker()->yield().reclaimed();
  const absl::Duration since = seen->reclaimed.Holds(context_->now(), holds, pc.quiet());
  const std::string live = since > kYield ? census_->LiveOn(pc.name()) : "";
  if (live.empty()) return;
  context_->verdict.Broken("reclaimed-is-free", pc.name(), " has been its owner's for ",
                           absl::FormatDuration(since), ", and it still has ", live);
}

void Watch::CheckAgreement(Pc& pc, const Coordinator* coordinator, Seen* seen) {
  const MonoTime now = context_->now();
  const bool talk = coordinator != nullptr && WorkerRuns(pc) && pc.worker()->Connected() &&
                    coordinator->Connected(pc.name()) && !pc.link().cut();
  const uint64_t stream = talk ? pc.worker()->stream()->number() : 0;
  seen->connected.Holds(now, talk, stream);
  const auto node = disk_->nodes().find(pc.name());
  const bool theirs = node != disk_->nodes().end() && node->second.reclaimed;
  // The time limit was on its way for a while, so it ends that much later at the coordinator.
  const bool ends = theirs && node->second.reclaimed_until != absl::InfiniteFuture();
  const bool disagree = talk && !ends && theirs != pc.worker()->yield().reclaimed();
  if (seen->disagree.Holds(now, disagree, stream) <= kTalk) return;
  context_->verdict.Broken("one-owner", "the coordinator takes ", pc.name(), " for ",
                           theirs ? "reclaimed" : "lent", ", its worker does not");
}

void Watch::CheckWaiting(const Coordinator& coordinator) {
  const Now now = context_->agenda.clock();
  for (const auto& [id, run] : disk_->runs()) {
    if (co::IsTerminal(run.state) || run.state == co::RunState::kRunning) continue;
    const auto known = coordinator.cluster().FindRun(id);
    if (!known || known->state != run.state) continue;  // its state is about to be committed
    const std::string text = coordinator.cluster().Waiting(now, id).text;
    if (text.empty()) {
      context_->verdict.Broken("why", "run ", id, " is ", co::Name(run.state), " for no reason");
    }
    const bool starts = text == "is about to start";
    if (about_to_start_[id].Holds(now.mono, starts, 0) > absl::Seconds(5)) {
      context_->verdict.Broken("why", "run ", id, " is about to start, and does not");
    }
    CheckWords(coordinator, id, text);
  }
}

// Whatever the text says about nodes must be true.
void Watch::CheckWords(const Coordinator& coordinator, RunId run, const std::string& text) {
  for (const auto& pc : *pcs_) {
    Seen& seen = seen_[pc->name()];
    const auto says = [&](const char* what) {
      return absl::StrContains(text, absl::StrCat(pc->name(), what));
    };
    const bool away = says(" is lost") || says(" is reconnecting") || says(" has not connected");
    const bool talk = coordinator.Connected(pc->name()) && WorkerRuns(*pc) &&
                      pc->worker()->Connected() && !pc->link().cut();
    const uint64_t stream = talk ? pc->worker()->stream()->number() : 0;
    if (away && talk && seen.connected.Holds(context_->now(), talk, stream) > kTalk) {
      context_->verdict.Broken("why", "run ", run, ": ", text, "; but ", pc->name(),
                               " is connected");
    }
    const auto node = disk_->nodes().find(pc->name());
    if (says(" is reclaimed") && (node == disk_->nodes().end() || !node->second.reclaimed)) {
      context_->verdict.Broken("why", "run ", run, ": ", text, "; but ", pc->name(), " is lent");
    }
  }
}

}  // namespace hpc::sim
