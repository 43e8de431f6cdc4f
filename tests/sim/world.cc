#include "tests/sim/world.h"

#include <algorithm>
#include <utility>

#include "tests/sim/machines/worker.h"

namespace hpc::sim {

namespace co = hpc::coordinator;

World::World(const Options& options, bool traced)
    : context_(options, traced),
      census_(&context_),
      peers_(&context_),
      disk_(&context_, &census_),
      clients_(&context_, &disk_, [this] { return coordinator_; }),
      watch_(&context_, &disk_, &census_, &pcs_) {
  for (int i = 0; i < options.nodes; ++i) {
    pcs_.push_back(std::make_unique<Pc>(&context_, &census_, &bonds_, &peers_, i, [this] {
      return std::weak_ptr<CoordinatorEnd>(coordinator_);
    }));
    Pc* pc = pcs_.back().get();
    owners_.push_back(std::make_unique<Owner>(&context_, &census_, pc,
                                              [this, pc] { return clients_.Touched(pc->name()); }));
  }
}

// ------------------------------------------------------------------------------ the coordinator

void World::StartCoordinator() {
  if (coordinator_ != nullptr) return;
  coordinator_frozen_ = false;
  coordinator_ =
      std::make_shared<Coordinator>(&context_, &disk_,
                                    Coordinator::Callbacks{[this](const co::WakeNode& wake) {
                                                             for (const auto& pc : pcs_) {
                                                               if (pc->name() == wake.node)
                                                                 pc->WakePacket();
                                                             }
                                                           },
                                                           [this] { CoordinatorDied(); }});
  coordinator_->Start();
}

void World::CoordinatorDied() {
  if (coordinator_ == nullptr) return;
  context_.trace.Note("coordinator dies");
  // It is kept until it has finished what it was doing.
  context_.agenda.After({}, [dying = std::exchange(coordinator_, nullptr)] {});
  for (const auto& pc : pcs_) pc->link().CoordinatorDied();
  Random& random = context_.random;
  const bool slow = !context_.healing && random.Chance(0.1);
  const absl::Duration pause = slow ? random.Between(absl::Seconds(5), absl::Minutes(2))
                                    : random.Between(absl::Milliseconds(50), absl::Seconds(2));
  context_.agenda.After(pause, [this] { StartCoordinator(); });
}

// ----------------------------------------------------------------------------------------- time

void World::Look() {
  for (size_t i = 0; i < pcs_.size(); ++i) {
    owners_[i]->Look();
    if (owners_[i]->acted()) clients_.OwnerActs(pcs_[i]->name());
  }
  clients_.CheckReclaims();
  watch_.Look(coordinator_frozen_ ? nullptr : coordinator_.get());
  context_.agenda.After(absl::Seconds(1), [this] { Look(); });
}

void World::RunUntil(MonoTime at) {
  while (context_.verdict.ok() && context_.agenda.Step(at)) {
  }
  context_.agenda.PassUntil(at);
}

void World::Heal() {
  context_.trace.Note("all is well from now on");
  context_.healing = true;
  disk_.set_full(false);
  if (coordinator_ != nullptr) coordinator_->Thaw();
  coordinator_frozen_ = false;
  StartCoordinator();
  peers_.HealAll();
  for (const auto& pc : pcs_) pc->HealAll();
}

bool World::AllOver() const {
  return std::all_of(disk_.runs().begin(), disk_.runs().end(),
                     [](const auto& entry) { return co::IsTerminal(entry.second.state); });
}

// Nothing is in the way of any run any more, so all must end.
void World::Settle() {
  const MonoTime healed = context_.now();
  RunUntil(healed + absl::Seconds(20));
  // A PC that was suspended when all healed has yet to report that its owner took it back.
  for (const auto& pc : pcs_) pc->HealAll();
  RunUntil(healed + absl::Seconds(25));
  clients_.LendEverything();
  clients_.ReleaseEverything();
  const absl::Duration patience = context_.options.cluster.stop_after_disconnect +
                                  absl::Minutes(4) +
                                  absl::Seconds(10) * static_cast<int64_t>(disk_.runs().size());
  while (context_.verdict.ok() && context_.now() < healed + patience) {
    for (const auto& pc : pcs_) pc->HealAll();  // PCs that were told to sleep come back
    RunUntil(context_.now() + absl::Seconds(10));
    if (AllOver() && clients_.idle()) return;
  }
}

void World::CheckOver() {
  for (const auto& [id, run] : disk_.runs()) {
    if (co::IsTerminal(run.state)) continue;
    context_.verdict.Broken(
        "every-run-ends", "run ", id, " is ", co::Name(run.state), ": ",
        coordinator_ == nullptr
            ? "no coordinator"
            : coordinator_->cluster().Waiting(context_.agenda.clock(), id).text);
  }
  if (!clients_.idle()) context_.verdict.Broken("every-answer", "a client still waits");
  clients_.CheckPromises();
}

Result World::Run() {
  StartCoordinator();
  for (const auto& pc : pcs_) {
    context_.agenda.After(context_.random.Between({}, absl::Seconds(1)),
                          [pc = pc.get()] { pc->StartWorker(); });
  }
  context_.agenda.After(absl::Seconds(2), [this] {
    clients_.Begin();
    for (const auto& owner : owners_) owner->Begin();
    BeginAccidents();
    Look();
  });
  RunUntil(MonoTime{} + context_.options.length);
  if (context_.verdict.ok()) {
    Heal();
    Settle();
    CheckOver();
  }
  Result result{context_.verdict.invariant(), context_.verdict.text(), context_.trace.lines()};
  return result;
}

}  // namespace hpc::sim
