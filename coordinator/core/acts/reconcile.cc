#include "coordinator/core/acts/reconcile.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {
namespace {

class Reconciler {
 public:
  Reconciler(Turn& turn, State* state, Gangs* gangs, GangStarter* starter, Node* node,
             bool rebooted)
      : turn_(turn),
        state_(state),
        gangs_(gangs),
        starter_(starter),
        node_(*node),
        rebooted_(rebooted) {}

  void TakeOver(const protocol::HeldAttempt& held) {
    Run* run = Live(held.ref);
    if (run == nullptr) {
      if (held.returned && GoesOnElsewhere(held.ref)) return TakeOverReturned(held);
      if (!held.returned) {
        SayOrphaned(held);
        node_.orphans.push_back(held.ref);
        turn_.Tell(node_.name(), EndOrphan(held.ref));
      }
      turn_.Tell(node_.name(), protocol::Forget{held.ref});
      return;
    }
    TellAgain(run, held);
    if (held.witnessed && !std::exchange(run->attempt->witnessed, true)) {
      gangs_->lost_nodes().WatchSilence(*run->attempt);
    }
    Reckon(run, held);
    const MemberContact before = std::exchange(MemberOf(*run)->contact, MemberContact::kThere);
    if (before != MemberContact::kThere && !held.returned) SayOrphaned(held);
    if (held.store_lost) gangs_->StoreLost(turn_, run, MemberOf(*run), *held.store_lost);
    // Each of these calls may end the attempt, and the run with it.
    if (AllStarted(held) && !MemberOf(*run)->Reached(MemberStage::kStarted)) {
      starter_->Started(turn_, run, MemberOf(*run), held.ranks);
    }
    for (const protocol::HeldRank& rank : held.ranks) {
      if (!rank.exit.has_value() || Live(held.ref) == nullptr) continue;
      gangs_->RankEnded(turn_, run, MemberOf(*run), rank.rank, *rank.exit, EndOf(*run, held, rank));
    }
    if (Live(held.ref) == nullptr) return;
    if (held.returned) return gangs_->Returned(turn_, run, MemberOf(*run), WhyOf(*run, held));
    const bool told = run->attempt->stopping();
    // What the worker has found of it since tells less: its files may lack their ends.
    if (rebooted_) gangs_->Restarted(turn_, run, MemberOf(*run), /*holds=*/true);
    gangs_->Halted(turn_, run, MemberOf(*run), WhyOf(*run, held));
    if (told) return gangs_->RepeatStop(turn_, *run, *MemberOf(*run));
    if (run->attempt->stopping()) return;
    if (run->attempt->record.state == AttemptState::kPreparing || !held.started) {
      Stop(run, AttemptOutcome::kStartFailed,
           absl::StrCat("the connection to ", node_.name(), " broke while the run was started"));
    }
  }

  // The other parts may still need what this node does for them.
  void TakeOverReturned(const protocol::HeldAttempt& held) {
    Run* run = Find(held.ref);
    TellAgain(run, held);
    if (held.store_lost) gangs_->StoreLost(turn_, run, MemberOf(*run), *held.store_lost);
    if (Find(held.ref) == nullptr) return;
    if (const auto why = WhyOf(*run, held)) gangs_->GoesDown(turn_, &node_, *why);
  }

  // The worker does not have an attempt that it should have.
  void Missing(Run* run) {
    Member* member = MemberOf(*run);
    if (!rebooted_) return gangs_->Disowned(turn_, run, member);
    if (member->disowned()) member->contact = MemberContact::kLost;
    gangs_->Restarted(turn_, run, member, /*holds=*/false);
  }

  // The live attempts that this node has been told of and has not returned.
  std::vector<Run*> Believed() {
    std::vector<Run*> runs;
    for (const Holding& holding : node_.holdings) {
      if (Run* run = Live(holding.ref)) runs.push_back(run);
    }
    return runs;
  }

 private:
  static constexpr absl::Duration kOverGrace = absl::Seconds(30);
  static constexpr absl::Duration kReplacedGrace = absl::Milliseconds(500);

  // An attempt that was replaced gets little time: what it still saves could overwrite what its
  // successor has saved.
  protocol::Stop EndOrphan(AttemptRef ref) const {
    const Run* run = state_->runs.Find(ref.run);
    if (run == nullptr || run->attempt == nullptr || run->attempt->ref().number <= ref.number) {
      return {ref, kOverGrace, "this attempt is over"};
    }
    return {ref, kReplacedGrace,
            absl::StrCat("attempt ", run->attempt->ref().ToString(), " runs in its place")};
  }

  // The run, if the attempt is not over on all nodes.
  Run* Find(AttemptRef ref) const {
    Run* run = state_->runs.Find(ref.run);
    return run != nullptr && run->attempt != nullptr && run->attempt->ref() == ref ? run : nullptr;
  }
  // Whether this node has returned its part, and the attempt is not over.
  bool GoesOnElsewhere(AttemptRef ref) const {
    const Run* run = Find(ref);
    const Member* member = run == nullptr ? nullptr : MemberOf(*run);
    return member != nullptr && member->placement.returned;
  }
  Run* Live(AttemptRef ref) {
    Run* run = Find(ref);
    if (run == nullptr) return nullptr;
    const Member* member = MemberOf(*run);
    return member != nullptr && member->Reached(MemberStage::kToldToPrepare) &&
                   !member->placement.returned
               ? run
               : nullptr;
  }
  Member* MemberOf(const Run& run) const { return run.attempt->FindMember(node_.name()); }

  // The ages of what happened before a PC restarted say nothing: the PC's clock counts from its
  // start. It happened at any time since the PC fell silent. If that was told before, nobody knows
  // any more when it was silent.
  Moment BeforeBoot(const Run& run) const {
    Window when{node_.silence_before.earliest, turn_.mono()};
    if (!rebooted_) when.earliest = std::min(when.earliest, run.attempt->began);
    return node_.clock.BeforeRestart(when);
  }
  bool IsBeforeBoot(const protocol::HeldAttempt& held) const {
    return rebooted_ || held.before_boot;
  }

  void TellAgain(Run* run, const protocol::HeldAttempt& held) const {
    if (!IsBeforeBoot(held)) gangs_->verdicts().ToldAgain(turn_, run, *MemberOf(*run), held);
  }

  RankEnd EndOf(const Run& run, const protocol::HeldAttempt& held,
                const protocol::HeldRank& rank) const {
    if (!IsBeforeBoot(held)) return RankEndOf(node_.clock, rank.ago, turn_.mono());
    return {BeforeBoot(run), rank.ago.started - rank.ago.ended, std::nullopt};
  }

  // What ended the ranks there happened while the node was silent, or later: otherwise its worker
  // would have said so at once. After a boot nothing more is known.
  std::optional<Cause> WhyOf(const Run& run, const protocol::HeldAttempt& held) const {
    const Verdicts& verdicts = gangs_->verdicts();
    if (IsBeforeBoot(held)) return verdicts.CauseOf(node_.name(), held.halt, BeforeBoot(run));
    protocol::Halt halt = held.halt;
    const absl::Duration most = turn_.mono() - halt.ago - node_.silence_before.earliest;
    halt.within = std::clamp(most, absl::ZeroDuration(), halt.within);
    return verdicts.CauseOf(turn_, *run.attempt, node_.name(), halt);
  }

  // Computes since when the attempt runs, by the clocks of its nodes.
  void Reckon(Run* run, const protocol::HeldAttempt& held) {
    Attempt& attempt = *run->attempt;
    if (attempt.record.state != AttemptState::kRunning) return;
    for (const protocol::HeldRank& rank : held.ranks) {
      if (rank.pid == 0) continue;
      const MonoTime since = turn_.mono() - rank.ago.started;
      const bool told = std::exchange(attempt.since_told, true);
      attempt.running_since = told ? std::max(attempt.running_since, since) : since;
    }
    gangs_->Watch(run);
  }

  static bool AllStarted(const protocol::HeldAttempt& held) {
    return held.started && std::all_of(held.ranks.begin(), held.ranks.end(), [](const auto& rank) {
             return rank.pid != 0 || rank.exit.has_value();
           });
  }

  void SayOrphaned(const protocol::HeldAttempt& held) {
    const auto running = std::count_if(held.ranks.begin(), held.ranks.end(), [](const auto& rank) {
      return rank.pid != 0 && !rank.exit.has_value();
    });
    if (running == 0) return;
    turn_.Event(event::kAttemptOrphaned, About(held.ref, node_.name()),
                absl::StrCat(node_.name(), " is back with ", Count(running, "rank"),
                             " of an attempt that was given up: told to end"),
                Severity::kWarning);
  }

  void Stop(Run* run, AttemptOutcome outcome, const std::string& why) {
    gangs_->Stop(turn_, run, {outcome, why, run->request().stop_grace});
  }

  Turn& turn_;
  State* state_;
  Gangs* gangs_;
  GangStarter* starter_;
  Node& node_;
  const bool rebooted_;
};

}  // namespace

void Reconcile(Turn& turn, State* state, Gangs* gangs, GangStarter* starter, Node* node,
               bool rebooted, const std::vector<protocol::HeldAttempt>& held) {
  Reconciler reconciler(turn, state, gangs, starter, node, rebooted);
  node->orphans.clear();
  if (rebooted) {
    gangs->GoesDown(turn, node,
                    ClusterCause(AttemptOutcome::kNodeLost, node->name(), node->silence_before,
                                 absl::StrCat(node->name(), ": the PC has restarted")));
  }
  std::vector<Run*> missing = reconciler.Believed();
  for (const protocol::HeldAttempt& attempt : held) {
    missing.erase(std::remove_if(missing.begin(), missing.end(),
                                 [&](Run* run) { return run->attempt->ref() == attempt.ref; }),
                  missing.end());
  }
  for (const protocol::HeldAttempt& attempt : held) reconciler.TakeOver(attempt);
  for (Run* run : missing) reconciler.Missing(run);
}

}  // namespace hpc::coordinator
