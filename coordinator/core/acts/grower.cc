#include "coordinator/core/acts/grower.h"

#include <algorithm>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "coordinator/core/acts/cluster_view.h"

namespace hpc::coordinator {
namespace {

bool MayGrow(const Run& run) {
  return run.attempt != nullptr && run.attempt->record.state == AttemptState::kRunning &&
         run.attempt->ranks_done == 0 &&
         static_cast<int32_t>(run.attempt->members.size()) < run.request().max_nodes;
}

bool Refused(const Run& run, const std::string& node) {
  const std::vector<std::string>& by = run.record.refused_by;
  return std::find(by.begin(), by.end(), node) != by.end();
}

int32_t RanksOf(const Fit& fit) {
  int32_t ranks = 0;
  for (const NodeShare& share : fit.shares) ranks += share.ranks;
  return ranks;
}

}  // namespace

void Grower::LookAtAll(Turn& turn) {
  absl::btree_set<RunId> runs;
  for (const auto& [name, node] : state_->nodes.by_name()) {
    for (const Holding& holding : node->holdings) runs.insert(holding.ref.run);
  }
  for (RunId id : runs) {
    Run* run = state_->runs.Find(id);
    if (run != nullptr) LookAt(turn, run, /*at_checkpoint=*/false);
  }
}

void Grower::LookAt(Turn& turn, Run* run, bool at_checkpoint) {
  if (!MayGrow(*run)) return;
  Attempt& attempt = *run->attempt;
  GrowthInput input;
  input.mode = run->request().grow;
  input.now = turn.mono();
  input.grow_steady = state_->options.grow_steady;
  input.gang_steady_at = attempt.running_since + state_->options.grow_steady;
  input.nodes = static_cast<int32_t>(attempt.members.size());
  input.at_checkpoint = at_checkpoint;
  std::vector<Node*> nodes;
  const Run* const waiting = state_->runs.Find(scheduler_->waiting_run());
  std::optional<Fit> larger = Larger(turn, *run, waiting, &nodes);
  if (!larger.has_value() && waiting != nullptr) {
    larger = Larger(turn, *run, nullptr, &nodes);
    input.waiting = waiting->id();
  }
  if (larger.has_value()) {
    for (const NodeShare& share : larger->shares) {
      const Node& node = *nodes[share.node];
      if (attempt.FindMember(node.name()) == nullptr) {
        const bool stays = SteadyAt(node) == StayedAt(node);
        input.fresh.push_back({node.name(), SteadyAt(node), stays ? node.departures : 0});
      }
    }
  }
  const GrowthDecision decision = DecideGrowth(input);
  state_->timers.Set(Alarm::kGrow, run->id(), decision.again);
  if (decision.grow) return Grow(turn, run, *larger, nodes, decision.words);
  // This is told once for each set of nodes: that fewer seconds are left is no reason to tell it
  // again. If nobody wants to grow, it is not told at all.
  std::string fresh;
  for (const NewNode& node : input.fresh) absl::StrAppend(&fresh, node.name, " ");
  const bool wanted = input.mode != GrowMode::kNever && !fresh.empty();
  if (wanted && fresh != attempt.growth_told) {
    turn.Event(event::kRunMayGrow, About(attempt.ref()),
               GrowthWords(decision.words, decision.again, turn.mono()));
    attempt.growth_told = fresh;
  }
  attempt.growth = decision.words;
  attempt.growth_at = decision.again;
}

std::optional<Fit> Grower::Larger(Turn& turn, const Run& run, const Run* waiting,
                                  std::vector<Node*>* nodes) const {
  // Nodes that come and go take long to count as steady. They are tried last, so that they hold up
  // no others.
  const MonoTime soon = turn.mono() + state_->options.grow_steady;
  std::optional<Fit> larger = LargerBy(turn, run, waiting, soon, nodes);
  return larger ? larger : LargerBy(turn, run, waiting, MonoTime::Infinite(), nodes);
}

std::optional<Fit> Grower::LargerBy(Turn& turn, const Run& run, const Run* waiting, MonoTime by,
                                    std::vector<Node*>* nodes) const {
  const Attempt& attempt = *run.attempt;
  ClusterView view = ViewOf(*state_, turn.now());
  for (size_t i = 0; i < view.nodes.size(); ++i) {
    const Node& node = *view.nodes[i];
    NodeSpace& space = view.input.nodes[i];
    if (const Member* member = attempt.FindMember(node.name())) {
      GiveBack(&space, member->placement.devices);
    } else if (!space.awake || SteadyAt(node) > by || Refused(run, node.name()) ||
               (waiting != nullptr && CouldHold(waiting->request(), space))) {
      space.usable = false;  // no node is woken for growth
    }
  }
  const std::vector<std::string> members = attempt.NodeNames();
  NodeWishes wishes;
  wishes.last_nodes = &members;
  const std::vector<size_t> eligible = Eligible(run.request(), view.input.nodes);
  std::optional<Fit> fit = Choose(run.request(), view.input.nodes, eligible, wishes);
  // More nodes with fewer GPUs each may mean fewer ranks.
  if (!fit.has_value() || fit->shares.size() <= members.size() ||
      RanksOf(*fit) <= attempt.record.world_size) {
    return std::nullopt;
  }
  *nodes = std::move(view.nodes);
  return fit;
}

MonoTime Grower::StayedAt(const Node& node) const {
  return node.back_since + SteadyTime(state_->options.grow_steady, node.departures);
}

MonoTime Grower::SteadyAt(const Node& node) const {
  return std::max(StayedAt(node), node.free_since + state_->options.grow_steady);
}

void Grower::Grow(Turn& turn, Run* run, const Fit& fit, const std::vector<Node*>& nodes,
                  const std::string& why) {
  // While the run's ranks end, nobody behind it in the queue may get the nodes that it grows onto.
  for (const NodeShare& share : fit.shares) {
    const std::string& name = nodes[share.node]->name();
    if (run->attempt->FindMember(name) == nullptr) run->kept.push_back({name, share.devices});
  }
  state_->keeping.push_back(run->id());
  gangs_->Stop(turn, run, {AttemptOutcome::kGrown, why, run->request().stop_grace});
}

}  // namespace hpc::coordinator
