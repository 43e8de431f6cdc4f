#include "tests/sim/people/clients.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hpc::sim {

namespace co = hpc::coordinator;

namespace {

constexpr absl::Duration kPatience = absl::Seconds(3);

// Whether the answer says nothing about the question.
bool MustAskAgain(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

}  // namespace

void Clients::Begin() {
  Repeat("submit", [this] { Submit(); });
  Repeat("cancel", [this] { Cancel(); });
  Repeat("reclaim", [this] { OnNode("reclaim", AnyNode()); });
  Repeat("lend", [this] { OnNode("lend", AnyNode()); });
  Repeat("hold", [this] { Hold(); });
  Repeat("power", [this] { Power(AnyNode()); });
}

void Clients::Repeat(const std::string& rate, std::function<void()> what) {
  const double often = context_->options.Rate(rate);
  if (often <= 0) return;
  context_->agenda.After(context_->random.NextOf(often), [this, rate, what] {
    if (context_->healing) return;
    what();
    Repeat(rate, what);
  });
}

// ------------------------------------------------------------------------------------ questions

void Clients::Ask(Question question, Answered done) {
  ++open_;
  Try(std::move(question), std::move(done), std::make_shared<int>(1));
}

void Clients::AskCluster(Call call, Answered done) {
  Ask(
      [call = std::move(call)](Coordinator* coordinator, std::function<bool()> waits,
                               Answered answer) {
        coordinator->Ask(
            [call, waits](co::Cluster* cluster, Now now, co::Effects* effects) {
              return waits() ? call(cluster, now, effects) : absl::CancelledError();
            },
            std::move(answer));
      },
      std::move(done));
}

void Clients::Try(Question question, Answered done, std::shared_ptr<int> tries) {
  context_->agenda.After(kPatience, [this, question, done, tries] {
    if (*tries == 0) return;
    ++*tries;
    Try(question, done, tries);
  });
  const std::shared_ptr<Coordinator> coordinator = coordinator_();
  if (coordinator == nullptr) return;
  const auto waits = [tries, mine = *tries] { return *tries == mine; };
  question(coordinator.get(), waits, [this, done, tries, waits](const absl::Status& status) {
    if (!waits() || MustAskAgain(status)) return;
    *tries = 0;
    --open_;
    done(status);
  });
}

co::RunRequest Clients::Draw() {
  static constexpr std::array<const char*, 10> kKinds = {
      "short", "short", "short", "long", "long", "polite", "stubborn", "flaky", "hang", "missing"};
  Random& random = context_->random;
  co::RunRequest r;
  int kind = random.Below(10);
  if (kind == 9 && random.Chance(0.5)) kind = 0;
  r.name = kKinds[static_cast<size_t>(kind)];
  // No more nodes than there are, or the run might rightly wait for ever.
  r.min_nodes = 1 + random.Below(std::min(4, context_->options.nodes));
  r.max_nodes = r.min_nodes + (random.Chance(0.5) ? random.Below(4) : 0);
  r.grow = static_cast<co::GrowMode>(1 + random.Below(3));
  if (random.Chance(0.3)) r.retry_exits = {75};
  if (context_->options.gpus > 0 && random.Chance(0.6)) {
    r.gpus_per_node = random.Below(context_->options.gpus + 1);
  }
  if (random.Chance(0.3)) r.ranks_per_node = 1 + random.Below(3);
  if (random.Chance(0.3)) r.priority = random.Below(3);
  if (random.Chance(0.3)) r.max_restarts = random.Below(3);
  if (random.Chance(0.25) || r.name == "hang") {
    r.time_limit = random.Between(absl::Seconds(5), absl::Seconds(60));
  }
  r.stop_grace = absl::Seconds(random.Chance(0.5) ? 30 : random.Below(12));
  if (random.Chance(0.2) && !acknowledged_.empty()) {
    r.after = 1 + random.Below(static_cast<int>(acknowledged_.rbegin()->first));
  }
  if (random.Chance(0.15)) {
    for (int i = 0; i < r.min_nodes + 1; ++i) r.node_list.push_back(absl::StrCat("pc", i + 1));
    if (r.min_nodes + 1 > context_->options.nodes) r.node_list.clear();
  }
  return r;
}

void Clients::Submit() {
  const co::RunRequest request = Draw();
  const std::string id = absl::StrCat("request-", ++requests_);
  const auto run = std::make_shared<RunId>(0);
  Ask(
      [id, request, run](Coordinator* coordinator, const std::function<bool()>&, Answered answer) {
        coordinator->Submit(id, request, [run, answer](const absl::StatusOr<RunId>& given) {
          if (given.ok()) *run = *given;
          answer(given.status());
        });
      },
      [this, request, run, id](const absl::Status& status) {
        context_->trace.Note("client: ", id, ": ",
                             status.ok() ? absl::StrCat("run ", *run) : status.ToString());
        if (!status.ok()) return;
        if (!acknowledged_.emplace(*run, request).second) {
          context_->verdict.Broken("run-ids", "run ", *run, " was given to two requests");
        }
        CheckPromises();
      });
}

void Clients::Cancel() {
  if (acknowledged_.empty()) return;
  auto it = acknowledged_.begin();
  std::advance(it, context_->random.Below(static_cast<int>(acknowledged_.size())));
  const RunId run = it->first;
  AskCluster(
      [this, run](co::Cluster* cluster, Now now, co::Effects* effects) {
        if (context_->Bugged(Bug::kSwallowCancel, 0.3)) return absl::OkStatus();
        return cluster->Cancel(now, run, {"user"}, effects);
      },
      [this, run](const absl::Status& status) {
        context_->trace.Note("client: cancel ", run, ": ", status.ToString());
        if (status.ok()) disk_->PromiseCancelled(run);
      });
}

void Clients::Hold() {
  if (acknowledged_.empty()) return;
  auto it = acknowledged_.begin();
  std::advance(it, context_->random.Below(static_cast<int>(acknowledged_.size())));
  const RunId run = it->first;
  const bool hold = context_->random.Chance(0.5);
  // If two are asked at once, nobody knows which one counts.
  if (!holding_.insert(run).second) return;
  if (!hold) disk_->ReleaseAsked(run);
  AskCluster(
      [this, run, hold](co::Cluster* cluster, Now now, co::Effects* effects) {
        if (hold && context_->Bugged(Bug::kSwallowHold, 0.3)) return absl::OkStatus();
        return cluster->ChangeRun(now, run, {.by = "user", .hold = hold}, effects).status();
      },
      [this, run, hold](const absl::Status& status) {
        holding_.erase(run);
        if (hold && status.ok() && !context_->healing) disk_->PromiseHeld(run);
        context_->trace.Note("client: ", hold ? "hold " : "release ", run, ": ", status.ToString());
      });
}

void Clients::ReleaseEverything() {
  for (const auto& [run, request] : acknowledged_) {
    disk_->ReleaseAsked(run);
    AskCluster(
        [run = run](co::Cluster* cluster, Now now, co::Effects* effects) {
          return cluster->ChangeRun(now, run, {.by = "user", .hold = false}, effects).status();
        },
        [](const absl::Status&) {});
  }
}

std::string Clients::AnyNode() {
  return absl::StrCat("pc", 1 + context_->random.Below(context_->options.nodes));
}

// Where nothing seems to happen, people soon ask for the same PC again: asleep, awake, or theirs.
void Clients::Power(const std::string& node) {
  Random& random = context_->random;
  OnNode(random.Chance(0.5) ? "sleep" : "wake", node);
  if (!random.Chance(0.5)) return;
  context_->agenda.After(random.Between({}, absl::Seconds(10)), [this, node] {
    if (context_->healing) return;
    context_->random.Chance(0.2) ? OnNode("reclaim", node) : Power(node);
  });
}

void Clients::OnNode(const std::string& what, const std::string& node) {
  Random& random = context_->random;
  co::ReclaimRequest request;
  request.grace = absl::Seconds(1 + random.Below(12));
  if (random.Chance(0.5)) request.duration = random.Between(absl::Seconds(2), absl::Minutes(1));
  const bool of_owner = what == "reclaim" || what == "lend";
  if (of_owner) {
    ++touched_[node].open;
    reclaimed_.erase(node);
  }
  AskCluster(
      [=](co::Cluster* cluster, Now now, co::Effects* effects) {
        if (what == "reclaim") return cluster->Reclaim(now, node, request, effects);
        if (what == "lend") return cluster->Lend(now, node, "user", effects);
        if (what == "sleep") return cluster->Sleep(now, node, "user", effects).status();
        return cluster->Wake(now, node, "user", effects);
      },
      [this, node, what, of_owner,
       limited = request.duration.has_value()](const absl::Status& status) {
        context_->trace.Note("client: ", what, " ", node, ": ", status.ToString());
        if (!of_owner) return;
        touched_[node] = {touched_[node].open - 1, context_->now()};
        const bool last = touched_[node].open == 0;
        if (what == "reclaim" && last && !limited && status.ok()) reclaimed_[node] = true;
      });
}

void Clients::LendEverything() {
  reclaimed_.clear();
  for (int i = 1; i <= context_->options.nodes; ++i) {
    const std::string node = absl::StrCat("pc", i);
    ++touched_[node].open;
    AskCluster([node](co::Cluster* cluster, Now now,
                      co::Effects* effects) { return cluster->Lend(now, node, "user", effects); },
               [](const absl::Status&) {});
  }
}

MonoTime Clients::Touched(const std::string& node) const {
  const auto it = touched_.find(node);
  if (it == touched_.end()) return MonoTime{} - absl::Hours(1);
  return it->second.open > 0 ? MonoTime::Infinite() : it->second.last;
}

void Clients::CheckReclaims() const {
  for (const auto& [name, yes] : reclaimed_) {
    const auto node = disk_->nodes().find(name);
    if (node != disk_->nodes().end() && node->second.reclaimed) continue;
    context_->verdict.Broken("acknowledged-reclaim", name,
                             " was reclaimed, and nobody has lent it since");
  }
}

void Clients::CheckPromises() const {
  for (const auto& [id, request] : acknowledged_) {
    const co::RunRecord* run = disk_->Run(id);
    if (run != nullptr && run->request == request) continue;
    context_->verdict.Broken("acknowledged-submit", "run ", id, " was acknowledged and is ",
                             run == nullptr ? "gone" : "another one now");
  }
  for (const auto& [id, attempts] : disk_->cancelled()) {
    const co::RunRecord* run = disk_->Run(id);
    if (run == nullptr || !co::IsTerminal(run->state) || run->state == co::RunState::kCancelled ||
        run->state == co::RunState::kSucceeded || disk_->HadFailedBefore(id)) {
      continue;
    }
    context_->verdict.Broken("acknowledged-cancel", "run ", id, " was cancelled and ended as ",
                             co::Name(run->state));
  }
}

}  // namespace hpc::sim
