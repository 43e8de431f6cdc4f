#include "coordinator/core/acts/waiting_words.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/acts/cluster_view.h"
#include "coordinator/core/acts/giver.h"
#include "coordinator/core/gangs/possible_answers.h"
#include "coordinator/core/gangs/rendezvous.h"
#include "coordinator/core/gangs/requeued.h"
#include "coordinator/core/policy/growth.h"
#include "coordinator/core/policy/node_words.h"
#include "coordinator/core/policy/request_words.h"
#include "coordinator/core/policy/reservation.h"

namespace hpc::coordinator {
namespace {

constexpr size_t kNodesNamed = 4;

// Runs this far behind are only told whom they wait behind, and not what they would need then: a
// listing of a long queue asks for all of them.
constexpr int32_t kPositionsInDetail = 20;

std::string Ordinal(int32_t n) {
  const int32_t tens = n % 100;
  const char* suffix = "th";
  if (tens < 11 || tens > 13) {
    if (n % 10 == 1) suffix = "st";
    if (n % 10 == 2) suffix = "nd";
    if (n % 10 == 3) suffix = "rd";
  }
  return absl::StrCat(n, suffix);
}

// Which of the runs on the node will give it to `to`, and when.
std::string GivenWords(const State& state, const Node& node, RunId to) {
  for (const Holding& holding : node.holdings) {
    const Run* run = state.runs.Find(holding.ref.run);
    if (run == nullptr || run->attempt == nullptr || run->attempt->gives.to != to) continue;
    const std::vector<std::string>& nodes = run->attempt->gives.nodes;
    if (std::find(nodes.begin(), nodes.end(), node.name()) == nodes.end()) continue;
    return run->request().grow == GrowMode::kNow ? ", which gives it once others do, too"
                                                 : ", which gives it at its next checkpoint";
  }
  return "";
}

std::string UsedBy(const State& state, const Node& node, RunId by) {
  if (node.holdings.empty())
    return absl::StrCat(node.name(), " is kept for a run that starts again on it");
  std::vector<std::string> runs;
  for (const Holding& holding : node.holdings) {
    runs.push_back(absl::StrCat("run ", holding.ref.run));
  }
  return absl::StrCat(node.name(), " is used by ", JoinSome(std::move(runs), kNodesNamed),
                      GivenWords(state, node, by));
}

std::string LeftAsleep(const std::string& node) {
  return absl::StrCat(node, " was put to sleep (`hpcctl wake ", node, "` lets the run go on)");
}

// Nodes that the run may be counting on and that do not exist any more: "; pc3 is shut out".
std::string GoneWords(const State& state, const RunRequest& request) {
  std::vector<std::string> shut_out, gone;
  for (const auto& [name, node] : state.nodes.by_name()) {
    const bool counts = CouldHold(request, EmptySpace(name, node->record.inventory));
    if (node->ShutOut() && counts) shut_out.push_back(name);
  }
  for (const std::string& name : request.node_list) {
    if (state.nodes.Find(name) == nullptr) gone.push_back(name);
  }
  std::string words;
  for (const auto& [names, what] :
       {std::pair(&shut_out, "shut out"), {&gone, "no node any more"}}) {
    if (names->empty()) continue;
    const char* are = names->size() == 1 ? " is " : " are ";
    absl::StrAppend(&words, "; ", JoinSome(std::move(*names), kNodesNamed), are, what);
  }
  return words;
}

// Why free nodes may not count: " among pc1 and pc2 (--nodelist)".
std::string Choice(const RunRequest& request) {
  std::string words;
  for (const auto& [names, before, option] :
       {std::tuple(&request.node_list, " among ", " (--nodelist)"),
        {&request.exclude, " other than ", " (--exclude)"}}) {
    if (!names->empty()) absl::StrAppend(&words, before, JoinSome(*names, kNodesNamed), option);
  }
  return words;
}

// What the run needs and does not get, node by node. "" if it could start by itself.
std::string Lacks(State& state, Now now, const Run& run) {
  const RunRequest& request = run.request();
  const ClusterView view = ViewOf(state, now);
  if (state.nodes.size() == 0) return "no node has joined yet";
  const std::vector<size_t> eligible = Eligible(request, view.input.nodes);
  const NodeWishes wishes = WishesOf(run);
  int32_t free = 0;
  std::vector<std::string> reasons;
  for (size_t i : eligible) {
    const Node& node = *view.nodes[i];
    const NodeSpace& space = view.input.nodes[i];
    const std::string why = WhyNotUsable(node, now.wall);
    if (!why.empty()) {
      reasons.push_back(absl::StrCat(node.name(), " ", why));
    } else if (MustLeaveAsleep(wishes, space)) {
      reasons.push_back(LeftAsleep(node.name()));
    } else if (IsKeptFrom(request, space)) {
      reasons.push_back(KeptFromWords(node.name(), node.record.inventory));
    } else if (!Fits(request, space)) {
      reasons.push_back(UsedBy(state, node, run.id()));
    } else {
      ++free;
    }
  }
  if (free >= request.min_nodes) return "";
  std::string text = absl::StrCat("needs ", NeedWords(request), Choice(request), ", ", free,
                                  free == 1 ? " is free" : " are free");
  if (!reasons.empty()) absl::StrAppend(&text, ": ", JoinSome(std::move(reasons), kNodesNamed));
  if (static_cast<int32_t>(eligible.size()) < request.min_nodes) {
    absl::StrAppend(&text, "; ", ExistWords(request, static_cast<int32_t>(eligible.size())),
                    GoneWords(state, request));
  }
  return text;
}

// The run that this one is behind: it holds its place, or will be queued again. Null: there is
// none.
const Run* RunBefore(State& state, Now now, const Run& run, RunId holder_id, int32_t position) {
  const Run* holder = state.runs.Find(holder_id);
  if (holder != nullptr && RunQueue::Before(*holder, run)) return holder;
  if (position > kPositionsInDetail) return nullptr;
  const std::vector<Run*> requeued = RequeuedRuns(&state, now.mono);
  return requeued.empty() || !RunQueue::Before(*requeued.front(), run) ? nullptr : requeued.front();
}

// The other runs in front of this one: ", then runs 9 and 11".
std::string OthersBefore(const State& state, const Run& run, const Run& holder, int32_t position) {
  std::vector<std::string> others;
  for (const Run* one : state.queue.First(static_cast<size_t>(position))) {
    if (one != &run && one != &holder) others.push_back(absl::StrCat(one->id()));
  }
  if (others.empty()) return "";
  const char* runs = others.size() == 1 ? ", then run " : ", then runs ";
  return absl::StrCat(runs, JoinSome(std::move(others), kNodesNamed));
}

// How soon the run that holds its place starts at the latest; nullopt if time limits do not tell,
// or it could start now.
std::optional<absl::Duration> StartsWithin(State& state, Now now, const Run& holder) {
  const Candidate candidate{holder.id(), &holder.request(), WishesOf(holder), {}, false};
  const std::optional<Reservation> held = Reserve(ViewOf(state, now).input, candidate);
  if (!held || held->start == MonoTime::Infinite() || held->start <= now.mono) return std::nullopt;
  return held->start - now.mono;
}

// What is free is kept for the holder, but a run that surely ends before the holder starts may have
// it meanwhile.
std::string KeptWords(State& state, Now now, const Run& run, const Run& holder) {
  std::string words = "what is free is kept for it";
  const std::optional<absl::Duration> within = StartsWithin(state, now, holder);
  if (!within) return words;
  absl::StrAppend(&words, ", which starts in ", HumanDuration(*within), " at the latest");
  const absl::Duration left = absl::Floor(*within - run.request().stop_grace, absl::Seconds(1));
  if (left < absl::Seconds(1) || run.request().time_limit <= left) return words;
  return absl::StrCat(words, "; with '--time-limit ", absl::ToInt64Seconds(left),
                      "s' this one would start now");
}

std::string QueuedWords(State& state, Now now, const Run& run, RunId holder_id, int32_t position) {
  const Run* holder = RunBefore(state, now, run, holder_id, position);
  const bool behind = holder != nullptr;
  const bool detail = !behind || position <= kPositionsInDetail;
  const std::string lacks = detail ? Lacks(state, now, run) : "";
  if (!behind) {
    if (!lacks.empty()) {
      const std::optional<absl::Duration> within = StartsWithin(state, now, run);
      return within ? absl::StrCat(lacks, "; starts in ", HumanDuration(*within), " at the latest")
                    : lacks;
    }
    if (run.last_call.has_value() && now.mono < *run.last_call) {
      return absl::StrCat("could start with fewer, and waits ",
                          HumanDuration(*run.last_call - now.mono), " for more: wants ",
                          NeedWords(run.request()));
    }
    return position == 1 ? "is about to start" : Ordinal(position) + " in the queue";
  }
  std::string text = absl::StrCat(Ordinal(position), " in the queue, behind run ", holder->id(),
                                  " which needs ", NeedWords(holder->request()));
  if (!detail) return text;
  absl::StrAppend(&text, OthersBefore(state, run, *holder, position), "; ",
                  lacks.empty() ? KeptWords(state, now, run, *holder) : lacks);
  return text;
}

// A failure of the program is not final as long as a node may still report what caused it.
std::string JudgingWords(State& state, const Attempt& attempt) {
  if (attempt.record.outcome != AttemptOutcome::kProgramFailed) return "";
  std::vector<std::string> unheard;
  for (const Member& m : attempt.members) {
    const bool heard = m.placement.returned || state.nodes.Find(m.placement.node)->connected();
    if (!heard) unheard.push_back(m.placement.node);
  }
  if (unheard.empty()) return "";
  const char* have = unheard.size() == 1 ? " has" : " have";
  return absl::StrCat("; judging: ", JoinSome(std::move(unheard), kNodesNamed), have,
                      " not been heard since");
}

std::string StoppingWords(State& state, const Attempt& attempt, Now now) {
  std::vector<std::string> waits;
  for (const Member& m : attempt.members) {
    if (m.placement.returned) continue;
    if (m.lost()) {
      waits.push_back(absl::StrCat(
          m.placement.node,
          m.disowned()
              ? ", whose worker no longer has the attempt; its ranks stop by themselves in "
              : ", which is lost and stops its ranks in ",
          HumanDuration(std::max(m.fence - now.mono, absl::ZeroDuration())), " at the latest"));
    } else if (const std::string doing = m.Doing(-1); !doing.empty()) {
      waits.push_back(
          absl::StrCat(m.placement.node, " (SIGKILL did not end all there: ", doing, ")"));
    } else {
      waits.push_back(m.placement.node);
    }
  }
  if (waits.empty()) {
    std::string node = NodeThatMayGoDown(state.nodes, attempt, now);
    if (node.empty() && !attempt.causes.empty()) node = attempt.causes.Deciding().node;
    return absl::StrCat("judging: waits a moment for what ", node.empty() ? "its nodes" : node,
                        " may say: ", attempt.record.reason);
  }
  return absl::StrCat("waits for the devices of ", JoinSome(std::move(waits), kNodesNamed), ": ",
                      attempt.record.reason, JudgingWords(state, attempt));
}

std::string RunningWords(const Run& run, MonoTime now) {
  const Attempt& attempt = *run.attempt;
  std::string words = WaitsForRanks(attempt, now);
  if (!words.empty() || attempt.ranks_done > 0) return words;  // it is about to end
  if (words = GivingWords(run); !words.empty()) return words;
  return GrowthWords(attempt.growth, attempt.growth_at, now);
}

std::string AttemptWords(State& state, const Run& run, Now now) {
  const Attempt& attempt = *run.attempt;
  switch (attempt.record.state) {
    case AttemptState::kWaking: {
      std::vector<std::string> asleep;
      for (const Member& m : attempt.members) {
        if (!state.nodes.Find(m.placement.node)->ReadyForWork()) asleep.push_back(m.placement.node);
      }
      return absl::StrCat("waits for ", JoinSome(std::move(asleep), kNodesNamed),
                          " to wake up, since ", HumanDuration(now.mono - attempt.began));
    }
    case AttemptState::kPreparing:
      return "waits for the preparation on " +
             JoinSome(attempt.NodesShortOf(MemberStage::kPrepared), kNodesNamed);
    case AttemptState::kStarting:
      return "waits for the ranks of " +
             JoinSome(attempt.NodesShortOf(MemberStage::kStarted), kNodesNamed);
    case AttemptState::kRunning:
      return RunningWords(run, now.mono);
    case AttemptState::kStopping:
      return StoppingWords(state, attempt, now);
    case AttemptState::kEnded:
      break;
  }
  return "";
}

}  // namespace

RunWait WaitOf(State& state, Now now, const Run& run, RunId holder) {
  if (run.attempt != nullptr) return {AttemptWords(state, run, now), 0};
  if (!run.record.on_hold.empty()) {
    return {absl::StrCat(run.record.on_hold, " (`hpcctl release ", run.id(), "` lets it start)"),
            0};
  }
  const int32_t position = state.queue.Position(run);
  if (position > 0 && state.Held(run, now.mono)) {
    return {absl::StrCat("a backup was restored, and a PC may still run an attempt of it that was "
                         "made after that backup: waits ",
                         HumanDuration(state.held_until - now.mono),
                         ", after which such ranks have stopped by themselves"),
            position};
  }
  if (position > 0) return {QueuedWords(state, now, run, holder, position), position};
  const Run* after = state.runs.Find(run.request().after);
  if (after != nullptr) {
    const std::string& held = after->record.on_hold;
    return {absl::StrCat("waits for the success of run ", after->id(), ", which is ",
                         held.empty() ? Name(after->record.state) : held),
            0};
  }
  return {absl::StrCat("starts again in ",
                       HumanDuration(std::max(run.retry_at - now.mono, absl::ZeroDuration())), ": ",
                       run.record.reason),
          0};
}

}  // namespace hpc::coordinator
