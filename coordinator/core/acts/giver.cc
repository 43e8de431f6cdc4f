#include "coordinator/core/acts/giver.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/acts/cluster_view.h"
#include "coordinator/core/policy/giving.h"

namespace hpc::coordinator {
namespace {

bool IsElastic(const Run& run) {
  return run.attempt != nullptr && run.attempt->record.state == AttemptState::kRunning &&
         run.attempt->ranks_done == 0 && run.request().grow != GrowMode::kNever &&
         static_cast<int32_t>(run.attempt->members.size()) > run.request().min_nodes;
}

ElasticGang GangOf(const Run& run, const ClusterView& view) {
  ElasticGang gang{.run = run.id(), .min_nodes = run.request().min_nodes};
  for (const Member& m : run.attempt->members) {
    const std::optional<size_t> node = view.Find(m.placement.node);
    if (node) gang.shares.push_back({*node, m.placement.devices, m.placement.ranks});
  }
  return gang;
}

}  // namespace

bool Giver::IsNear(const Run& run) const {
  const int32_t position = state_->queue.Position(run);
  return position > 0 && position <= kWaitingLookedAt;
}

void Giver::Look(Turn& turn, const Run* saved) {
  for (RunId id : std::exchange(givers_, {})) {
    Run* const run = state_->runs.Find(id);
    if (run != nullptr && run->attempt != nullptr) run->attempt->gives = {};
  }
  const std::vector<Run*> gangs = Elastic();
  if (gangs.empty()) return;
  const std::vector<Run*> givers = Plan(turn, gangs);
  const auto may_give = [saved](const Run* run) {
    return run == saved || run->request().grow == GrowMode::kNow;
  };
  // Gangs that may give at any time go on until those that need a checkpoint have given.
  const bool all_may = std::all_of(givers.begin(), givers.end(), may_give);
  for (Run* run : givers) {
    if (run == saved || all_may) Give(turn, run);
  }
}

std::vector<Run*> Giver::Elastic() const {
  absl::btree_set<std::tuple<int32_t, RunId>> order;  // by priority, then the youngest first
  for (const auto& [name, node] : state_->nodes.by_name()) {
    for (const Holding& holding : node->holdings) {
      const Run* run = state_->runs.Find(holding.ref.run);
      if (run != nullptr && IsElastic(*run)) order.insert({run->request().priority, -run->id()});
    }
  }
  std::vector<Run*> runs;
  for (const auto& [priority, id] : order) runs.push_back(state_->runs.Find(-id));
  return runs;
}

std::vector<Run*> Giver::Plan(Turn& turn, const std::vector<Run*>& gangs) {
  const ClusterView view = ViewOnceStopped(*state_, turn.now());
  std::vector<NodeSpace> nodes = view.input.nodes;
  for (const Run* waiting : state_->queue.First(kWaitingLookedAt)) {
    if (state_->Held(*waiting, turn.mono())) continue;
    std::vector<ElasticGang> lower;
    for (const Run* gang : gangs) {
      if (gang->request().priority < waiting->request().priority) {
        lower.push_back(GangOf(*gang, view));
      }
    }
    const std::vector<Gift> gifts =
        NodesToGive(nodes, waiting->request(), WishesOf(*waiting), lower);
    if (!gifts.empty()) return Note(turn, *waiting, gifts, view.nodes);
    // Whatever becomes free is for this run first. Later ones get only what it cannot use.
    for (NodeSpace& node : nodes) {
      if (CouldHold(waiting->request(), node)) node.usable = false;
    }
  }
  return {};
}

std::vector<Run*> Giver::Note(Turn& turn, const Run& waiting, const std::vector<Gift>& gifts,
                              const std::vector<Node*>& nodes) {
  std::vector<Run*> givers;
  for (const Gift& gift : gifts) {
    Run* const run = state_->runs.Find(gift.run);
    Attempt& attempt = *run->attempt;
    attempt.gives.to = waiting.id();
    for (size_t node : gift.nodes) attempt.gives.nodes.push_back(nodes[node]->name());
    std::sort(attempt.gives.nodes.begin(), attempt.gives.nodes.end());
    givers.push_back(run);
    givers_.push_back(run->id());
    if (std::string words = GivingWords(*run); words != attempt.giving_told) {
      turn.Event(event::kRunGives, About(attempt.ref()), words);
      attempt.giving_told = std::move(words);
    }
  }
  return givers;
}

void Giver::Give(Turn& turn, Run* run) {
  const Attempt& attempt = *run->attempt;
  const Attempt::Gives gives = attempt.gives;
  for (const Member& m : attempt.members) {
    const bool given =
        std::find(gives.nodes.begin(), gives.nodes.end(), m.placement.node) != gives.nodes.end();
    if (given) continue;
    run->goes_on_with.push_back({m.placement.node, m.placement.devices, m.placement.ranks});
  }
  state_->keeping.push_back(run->id());
  gangs_->Stop(turn, run,
               {AttemptOutcome::kShrunk,
                absl::StrCat("gives ", JoinWords(gives.nodes), " to run ", gives.to),
                run->request().stop_grace});
}

std::string GivingWords(const Run& run) {
  const Attempt::Gives& gives = run.attempt->gives;
  if (gives.to == 0) return "";
  return absl::StrCat(
      "gives ", JoinWords(gives.nodes), " to run ", gives.to, ", whose priority is higher, ",
      run.request().grow == GrowMode::kNow ? "as soon as that can start with it"
                                           : "at the next checkpoint that it tells of");
}

}  // namespace hpc::coordinator
