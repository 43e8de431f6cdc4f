// Accidents in a world. They happen as often as its options say.
#include "tests/sim/machines/worker.h"
#include "tests/sim/world.h"

namespace hpc::sim {

void World::BeginAccidents() {
  Repeat("cut", &World::Cut);
  Repeat("peer-cut", &World::CutPeers);
  Repeat("reset", &World::ResetLink);
  Repeat("blip", &World::Blip);
  Repeat("worker-crash", &World::WorkerCrash);
  Repeat("worker-freeze", &World::WorkerFreeze);
  Repeat("worker-upgrade", &World::WorkerUpgrade);
  Repeat("supervisor-crash", &World::SupervisorCrash);
  Repeat("power-loss", &World::PowerLoss);
  Repeat("suspend", &World::Suspend);
  Repeat("coordinator-crash", &World::CoordinatorCrash);
  Repeat("coordinator-freeze", &World::CoordinatorFreeze);
  Repeat("disk-full", &World::DiskFull);
  Repeat("supervisor-freeze", &World::SupervisorFreeze);
  Repeat("shutdown", &World::ShutDown);
}

void World::Repeat(const char* rate, void (World::*accident)()) {
  const double often = context_.options.Rate(rate);
  if (often <= 0) return;
  context_.agenda.After(context_.random.NextOf(often), [this, rate, accident] {
    if (context_.healing) return;
    (this->*accident)();
    Repeat(rate, accident);
  });
}

// More often than not, a time that may decide something: all such times are below twice the lease.
// Otherwise a time that may be long.
absl::Duration World::HowLong(absl::Duration least, absl::Duration most) {
  const absl::Duration lease = context_.options.cluster.lease;
  return context_.random.Chance(0.6) ? context_.random.Between({}, 2 * lease)
                                     : context_.random.Between(least, most);
}

Pc& World::AnyPc() {
  return *pcs_[static_cast<size_t>(context_.random.Below(context_.options.nodes))];
}

void World::Cut() {
  Pc& pc = AnyPc();
  const int how = context_.random.Below(4);
  const absl::Duration d = HowLong(absl::Seconds(8), absl::Minutes(3));
  // Either the cable is cut, or only something between the PC and the coordinator.
  const bool all = how >= 2 && context_.random.Chance(0.6);
  context_.trace.Note(pc.name(), ": is cut off", how == 0 ? ", what it says" : "",
                      how == 1 ? ", what it is told" : "", all ? ", from its peers too" : "");
  pc.link().Cut(how != 1, how != 0);
  if (all) peers_.Cut(pc.name(), "");
  context_.agenda.After(d, [this, &pc] {
    context_.trace.Note(pc.name(), ": is no longer cut off");
    pc.link().Heal();
    peers_.Heal(pc.name(), "");
  });
}

void World::CutPeers() {
  const std::string a = AnyPc().name(), b = AnyPc().name();
  context_.trace.Note(a, " and ", b, ": do not hear each other");
  peers_.Cut(a, b);
  context_.agenda.After(context_.random.Between(absl::Seconds(1), absl::Minutes(1)),
                        [this, a, b] { peers_.Heal(a, b); });
}

void World::ResetLink() {
  Pc& pc = AnyPc();
  context_.trace.Note(pc.name(), ": its connections are reset");
  pc.link().ResetAll();
}

void World::Blip() {
  AnyPc().link().Blip(context_.random.Between(absl::Milliseconds(10), absl::Seconds(3)));
}

void World::WorkerCrash() {
  Pc& pc = AnyPc();
  if (pc.worker() == nullptr) return;
  // Dies in the middle of the next thing that it does, or at any moment.
  if (context_.random.Chance(0.5)) return pc.worker()->DieWithin(context_.random.Below(5));
  pc.CrashWorker();
}

void World::WorkerFreeze() {
  Pc& pc = AnyPc();
  if (pc.worker() == nullptr || pc.worker()->frozen()) return;
  context_.trace.Note(pc.name(), ": its worker stands still");
  pc.FreezeWorker(HowLong(absl::Seconds(1), absl::Minutes(2)));
}

void World::WorkerUpgrade() {
  Pc& pc = AnyPc();
  if (pc.worker() == nullptr) return;
  context_.trace.Note(pc.name(), ": its worker is told to end");
  pc.worker()->ShutDown(context_.random.Chance(0.3));
}

void World::SupervisorCrash() { AnyPc().CrashSupervisor(); }

// Lasts for less than the time that a fence leaves for killing.
void World::SupervisorFreeze() {
  Pc& pc = AnyPc();
  context_.trace.Note(pc.name(), ": its supervisors stand still");
  pc.FreezeSupervisors(context_.random.Between(absl::Milliseconds(50), absl::Milliseconds(600)));
}

void World::PowerLoss() {
  AnyPc().PowerLoss(context_.random.Between(absl::Seconds(5), absl::Minutes(2)));
}

void World::ShutDown() {
  AnyPc().ShutDown(context_.random.Between(absl::Seconds(5), absl::Minutes(2)));
}

void World::Suspend() {
  AnyPc().Suspend(context_.random.Between(absl::Seconds(1), absl::Minutes(3)));
}

void World::CoordinatorCrash() {
  if (coordinator_ == nullptr) return;
  switch (context_.random.Below(4)) {
    case 0:
      return coordinator_->DieAt(CrashPoint::kBeforeCommit);
    case 1:
      return coordinator_->DieAt(CrashPoint::kAfterCommit);
    case 2:
      return coordinator_->DieAt(CrashPoint::kBetweenMessages);
    default:
      coordinator_->Kill();
      CoordinatorDied();
  }
}

void World::CoordinatorFreeze() {
  if (coordinator_ == nullptr || coordinator_frozen_) return;
  context_.trace.Note("coordinator stands still");
  coordinator_frozen_ = true;
  coordinator_->Freeze();
  const bool dies = context_.random.Chance(0.4);
  context_.agenda.AfterFor(coordinator_, HowLong(absl::Seconds(1), absl::Seconds(30)),
                           [this, dies, frozen = coordinator_.get()] {
                             if (coordinator_.get() != frozen || !coordinator_frozen_) return;
                             coordinator_frozen_ = false;
                             if (dies) {
                               coordinator_->Kill();
                               return CoordinatorDied();
                             }
                             context_.trace.Note("coordinator goes on");
                             coordinator_->Thaw();
                           });
}

void World::DiskFull() {
  context_.trace.Note("the coordinator's disk is full");
  disk_.set_full(true);
  context_.agenda.After(context_.random.Between(absl::Seconds(1), absl::Seconds(20)),
                        [this] { disk_.set_full(false); });
}

}  // namespace hpc::sim
