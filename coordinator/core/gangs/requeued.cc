#include "coordinator/core/gangs/requeued.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/gangs/rendezvous.h"

namespace hpc::coordinator {
namespace {

bool BacksOff(const State& state, const Run* run) {
  return run != nullptr && run->attempt == nullptr && !state.queue.Contains(*run) &&
         run->record.on_hold.empty();
}

bool WillReturn(const State& state, const Run& run, MonoTime now) {
  if (run.attempt == nullptr || !run.attempt->stopping()) return false;
  const Ending ending = EndingOf(run, now - run.attempt->running_since);
  return DecideRetry(run.record, ending, state.options).state == RunState::kQueued;
}

// A shorter run is hardly a training.
constexpr absl::Duration kWorthMeeting = absl::Seconds(2);

}  // namespace

Ending EndingOf(const Run& run, absl::Duration ran_for) {
  const Attempt& attempt = *run.attempt;
  const AttemptRecord& record = attempt.record;
  Ending ending;
  if (record.started_at != absl::InfinitePast())
    ending.ran_for = std::max(ran_for, absl::ZeroDuration());
  ending.outcome = record.outcome;
  ending.reason = record.reason;
  ending.free_of_charge = record.free_of_charge;
  ending.exit_code = record.exit_code;
  if (attempt.AllRanksDone()) {
    ending.outcome = AttemptOutcome::kSucceeded;
    ending.reason = absl::StrCat(attempt.ranks.size() == 1 ? "its rank" : "every rank",
                                 " exited 0 after ", HumanDuration(ending.ran_for));
    if (NobodyCame(attempt) && ending.ran_for >= kWorthMeeting) {
      absl::StrAppend(&ending.reason, "; none of them came to the rendezvous: unless they met in ",
                      "another way, ", attempt.ranks.size(), " separate copies ran");
    }
    if (attempt.killed > 0) {
      const bool one = attempt.killed == 1;
      absl::StrAppend(&ending.reason, "; ", attempt.killed, one ? " process" : " processes",
                      " left running behind ", attempt.ranks.size() == 1 ? "it" : "them",
                      one ? " was killed" : " were killed",
                      " (let a script 'wait' for what it "
                      "starts with '&')");
    }
  }
  return ending;
}

std::vector<Run*> RequeuedRuns(State* state, MonoTime now) {
  std::vector<Run*> runs;
  for (const auto& [name, node] : state->nodes.by_name()) {
    for (const Holding& holding : node->holdings) {
      Run* const run = state->runs.Find(holding.ref.run);
      if (run != nullptr && WillReturn(*state, *run, now)) runs.push_back(run);
    }
  }
  auto& waiting = state->backing_off;
  waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                               [&](RunId id) { return !BacksOff(*state, state->runs.Find(id)); }),
                waiting.end());
  for (RunId id : waiting) runs.push_back(state->runs.Find(id));
  std::sort(runs.begin(), runs.end(),
            [](const Run* a, const Run* b) { return RunQueue::Before(*a, *b); });
  runs.erase(std::unique(runs.begin(), runs.end()), runs.end());
  return runs;
}

}  // namespace hpc::coordinator
