#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/text.h"
#include "coordinator/core/exit_words.h"
#include "coordinator/core/fence.h"
#include "coordinator/core/gangs.h"
#include "coordinator/core/returning.h"

namespace hpc::coordinator {
namespace {

// Of a gang that has lost a node and need not wait for it. Whatever its other ranks do, they soon
// wait for the lost ones, in a call that no handler of SIGTERM interrupts: a long grace would be
// waited out, and save nothing.
constexpr absl::Duration kLossGrace = absl::Milliseconds(500);

std::string StoppedItself(const std::string& node) { return node + " stopped its ranks by itself"; }

// Some programs abort on their way out, when threads of a library meet the end of the interpreter.
// Where others had finished, that is what it looks like.
std::string AfterItsWork(const Attempt& attempt, const RankExit& exit) {
  constexpr int32_t kAborted = 128 + 6;  // SIGABRT
  if (ShellCode(exit) != kAborted || attempt.ranks_done == 0) return "";
  return absl::StrCat(" (when ", attempt.ranks_done, " of ",
                      Count(attempt.record.world_size, "rank"),
                      " had exited 0: perhaps on its way out, with its work done)");
}

bool AllRanksEndedOn(const Attempt& attempt, const std::string& node) {
  return std::all_of(attempt.ranks.begin(), attempt.ranks.end(), [&](const RankRecord& rank) {
    return rank.node != node || rank.exit.has_value();
  });
}

// When its last rank ended, where every end is known; else now.
absl::Time EndOf(const Attempt& attempt, absl::Time now) {
  absl::Time last = absl::InfinitePast();
  for (const RankRecord& rank : attempt.ranks) {
    if (rank.pid == 0) continue;
    if (!rank.exit.has_value()) return now;
    last = std::max(last, rank.ended_at);
  }
  return last == absl::InfinitePast() ? now : std::min(last, now);
}

}  // namespace

std::vector<Run*> Gangs::RunsOn(const Node& node) {
  std::vector<Run*> runs;
  for (const Holding& holding : node.holdings) {
    Run* run = state_->runs.Find(holding.ref.run);
    if (run != nullptr && run->attempt != nullptr && run->attempt->ref() == holding.ref) {
      runs.push_back(run);
    }
  }
  return runs;
}

void Gangs::RankEnded(Turn& turn, Run* run, Member* member, int32_t number, const RankExit& exit,
                      RankAges ago) {
  Attempt& attempt = *run->attempt;
  if (number < 0 || number >= attempt.record.world_size) return;
  RankRecord& rank = attempt.ranks[static_cast<size_t>(number)];
  if (rank.node != member->placement.node || rank.exit.has_value()) return;
  rank.exit = exit;
  // Both from this report: their difference is then what the node measured, whatever our wall clock
  // did meanwhile.
  if (rank.pid != 0) rank.started_at = turn.wall() - ago.started;
  rank.ended_at = turn.wall() - ago.ended;
  turn.Save(rank);
  Subject about = About(attempt.ref(), rank.node);
  about.rank = number;
  if (SucceededByItself(exit)) {
    turn.Event(event::kRankExited, about, "exited with code 0");
    ++attempt.ranks_done;
    if (attempt.AllRanksDone() && !attempt.stopping()) WatchLinger(turn, run);
    return;
  }
  if (exit.after_stop) {
    turn.Event(event::kRankExited, about, ExitWords(exit) + ", after it was told to end");
    // By its worker then, which ends ranks by itself when it has not heard from us for too long.
    if (!attempt.stopping()) {
      Stop(turn, run,
           {AttemptOutcome::kNodeLost, StoppedItself(rank.node), run->request().stop_grace});
    }
    return;
  }
  turn.Event(event::kRankFailed, about, ExitWords(exit), Severity::kError);
  Fail(turn, run, rank, exit, ago.ended);
}

void Gangs::Fail(Turn& turn, Run* run, const RankRecord& rank, const RankExit& exit,
                 absl::Duration ended_ago) {
  Attempt& attempt = *run->attempt;
  const MonoTime at = turn.mono() - ended_ago;
  if (attempt.failure.has_value() && attempt.failure->at <= at) return;
  attempt.failure = FirstFailure{at, rank.rank, ShellCode(exit),
                                 absl::StrCat("rank ", rank.rank, " on ", rank.node, " ",
                                              ExitWords(exit), AfterItsWork(attempt, exit))};
  if (!attempt.stopping()) {
    // A rank that needs the store once more fails for want of it, and says so as it likes.
    const bool ours = !attempt.store_lost_with.empty();
    const std::string why =
        ours ? absl::StrCat("its rendezvous store was lost with the worker of ",
                            attempt.store_lost_with, ", and then ", attempt.failure->text)
             : attempt.failure->text;
    return Stop(turn, run,
                {ours ? AttemptOutcome::kNodeLost : AttemptOutcome::kProgramFailed, why,
                 run->request().stop_grace});
  }
  if (attempt.record.outcome != AttemptOutcome::kProgramFailed) return;
  // Reports cross: this one came later but happened earlier, so it is the cause.
  attempt.record.reason = attempt.failure->text;
  run->record.reason = attempt.failure->text;
  turn.Save(attempt.record);
  turn.Save(run->record);
}

void Gangs::Returned(Turn& turn, Run* run, Member* member, absl::string_view lost_reason) {
  Attempt& attempt = *run->attempt;
  if (member->placement.returned || member->disowned) return;
  const std::string& node = member->placement.node;
  lost_reason = absl::StripPrefix(lost_reason, absl::StrCat(node, ": "));
  GiveBack(turn, run, member);
  if (!EndedWell(attempt, *member)) TakePromise(turn.mono(), MonoTime::Infinite(), member);
  ArmFence(run);
  if (attempt.stopping()) {
    if (!lost_reason.empty() && attempt.record.reason == StoppedItself(node)) {
      attempt.record.reason = absl::StrCat(node, ": ", lost_reason);
    }
    return FinishIfReturned(turn, run);
  }
  if (AllRanksEndedOn(attempt, node)) {
    // Its ranks had done their work; what was lost is of no use to them any more.
    if (attempt.AllReturned()) Finish(turn, run);
    return;
  }
  const std::string what = lost_reason.empty()
                               ? "returned its devices without saying how its ranks ended"
                               : std::string(lost_reason);
  if (member->start_sent && !member->started) {
    WorkElsewhere(turn, node, absl::StrCat("could not start run ", run->id(), ": ", what));
  }
  const std::string why = absl::StrCat(node, lost_reason.empty() ? " " : ": ", what);
  const AttemptOutcome outcome =
      member->start_sent ? AttemptOutcome::kNodeLost : AttemptOutcome::kStartFailed;
  Stop(turn, run, {outcome, why, run->request().stop_grace});
}

void Gangs::Disowned(Turn& turn, Run* run, Member* member) {
  const std::string& node = member->placement.node;
  const std::string why = "its worker no longer has the attempt";
  // Without the word to start no rank can be there, and what has ended is not there any more.
  if (!member->start_sent || AllRanksEndedOn(*run->attempt, node)) {
    return Returned(turn, run, member, why);
  }
  member->disowned = true;
  if (!std::exchange(member->lost, true)) {
    member->lost_at = turn.mono();
    ArmFence(run);
    Recall(turn, *run, member, run->request().stop_grace);
  }
  Stop(turn, run,
       {AttemptOutcome::kNodeLost,
        absl::StrCat(node, ": ", why, "; its ranks may still run there, and stop by themselves in ",
                     HumanDuration(member->fence - turn.mono()), " at the latest"),
        run->request().stop_grace});
}

void Gangs::NodeGone(Turn& turn, const Node& node, AttemptOutcome outcome, const std::string& why) {
  for (Run* run : RunsOn(node)) {
    Attempt& attempt = *run->attempt;
    Member* member = attempt.FindMember(node.name());
    member->lost = true;
    // Without the word to start no rank can be there.
    if (!member->start_sent) {
      GiveBack(turn, run, member);
    } else {
      member->lost_at = node.lease.heard();
      ArmFence(run);
    }
    // Ranks elsewhere fail when they miss a peer, and say so before the silence is long enough.
    const bool silent_before =
        attempt.failure.has_value() && node.lease.heard() < attempt.failure->at;
    if (attempt.stopping() && attempt.record.outcome == AttemptOutcome::kProgramFailed &&
        silent_before) {
      attempt.record.outcome = outcome;
      attempt.record.reason = absl::StrCat(why, ", and then ", attempt.failure->text);
      run->record.reason = attempt.record.reason;
      turn.Save(attempt.record);
      turn.Save(run->record);
    }
    const bool hurry = outcome == AttemptOutcome::kNodeLost && attempt.witnessed;
    const absl::Duration grace = hurry ? kLossGrace : run->request().stop_grace;
    if (outcome == AttemptOutcome::kNodeLost) Recall(turn, *run, member, grace);
    for (Member& other : attempt.members) NotRecalled(turn, run, &other, node.name());
    Stop(turn, run, {outcome, why, grace});
  }
}

void Gangs::GiveBack(Turn& turn, Run* run, Member* member) {
  if (member->placement.returned) return;
  member->placement.returned = true;
  turn.Save(member->placement);
  Node* node = state_->nodes.Find(member->placement.node);
  const AttemptRef ref = run->attempt->ref();
  auto& holdings = node->holdings;
  holdings.erase(std::remove_if(holdings.begin(), holdings.end(),
                                [&](const Holding& h) { return h.ref == ref; }),
                 holdings.end());
  node->free_since = turn.mono();
  state_->devices_returned.push_back(node);
  state_->capacity_changed = true;
}

void Gangs::FinishIfReturned(Turn& turn, Run* run) {
  if (run->attempt->AllReturned()) Finish(turn, run);
}

void Gangs::Finish(Turn& turn, Run* run) {
  const absl::Time ended_at = EndOf(*run->attempt, turn.wall());
  const absl::Duration ago = turn.wall() - ended_at;
  Ending ending = EndingOf(*run, turn.mono() - run->attempt->running_since - ago);
  const std::unique_ptr<Attempt> attempt = std::move(run->attempt);
  AttemptRecord& record = attempt->record;
  record.ended_at = ended_at;
  record.outcome = ending.outcome;
  record.reason = ending.reason;
  SetState(attempt.get(), AttemptState::kEnded);
  turn.Save(record);
  for (const Member& m : attempt->members) {
    const Node* node = state_->nodes.Find(m.placement.node);
    if (m.prepare_sent && node->connected) turn.Tell(node->name(), ForgetAttempt{record.ref});
  }
  state_->timers.Stop(Alarm::kPhase, run->id());
  state_->timers.Stop(Alarm::kFence, run->id());
  state_->timers.Stop(Alarm::kRendezvous, run->id());
  state_->timers.Stop(Alarm::kGrow, run->id());
  run->last_nodes = attempt->NodeNames();
  if (run->record.cancel_requested && !run->cancel_reason.empty()) {
    ending.reason = run->cancel_reason;
  }
  ledger_->Carry(turn, run, Judge(run->record, ending, state_->options), record.ended_at);
}

}  // namespace hpc::coordinator
