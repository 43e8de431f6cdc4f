#include "tests/sim/machines/pc.h"

#include <iterator>
#include <utility>

#include "tests/sim/machines/worker.h"

namespace hpc::sim {

namespace co = hpc::coordinator;

namespace {

// A PC has GPUs, or two CPU slots. Every fifth PC cannot be woken.
protocol::Inventory MakeInventory(int index, int gpus) {
  protocol::Inventory inventory;
  inventory.cores = 4;
  const protocol::DeviceKind kind =
      gpus > 0 ? protocol::DeviceKind::kGpu : protocol::DeviceKind::kCpuSlot;
  for (int i = 0; i < (gpus > 0 ? gpus : 2); ++i) {
    inventory.devices.push_back({i, kind, "", "", 0, ""});
  }
  protocol::NetworkInterface eth0;
  eth0.name = "eth0";
  if (index % 5 != 4) eth0.mac = "02:00:00:00:00:01";
  inventory.interfaces = {eth0};
  return inventory;
}

}  // namespace

Pc::Pc(Context* context, Census* census, Bonds* bonds, Peers* peers, int index,
       FindCoordinator coordinator)
    : context_(context),
      census_(census),
      bonds_(bonds),
      peers_(peers),
      name_(absl::StrCat("pc", index + 1)),
      address_(absl::StrCat("10.0.0.", index + 1)),
      coordinator_(std::move(coordinator)),
      inventory_(MakeInventory(index, context->options.gpus)),
      link_(context, name_),
      gate_(&context->agenda, &context->random),
      wall_skew_(context->random.Between(-absl::Minutes(10), absl::Minutes(10))),
      can_vouch_(!context->random.Chance(0.05)) {
  peers->Add(name_, this);
}

Now Pc::now() const {
  const Now now = context_->agenda.clock();
  return {now.mono - slept_, now.wall + wall_skew_};
}

void Pc::SaveOwner(const worker::OwnerState& state) {
  context_->trace.Note("    ", name_, ": saves that it is ",
                       state.reclaimed ? "its owner's" : "lent", state.unsent ? ", unsent" : "");
  if (owner.reclaimed != state.reclaimed) ++quiet_;
  owner = state;
}

std::shared_ptr<Supervisor> Pc::MakeSupervisor(const protocol::Prepare& prepare,
                                               absl::Duration lease) {
  auto supervisor =
      std::make_shared<Supervisor>(context_, census_, bonds_, &gate_, name_, prepare, lease);
  supervisor->ExtendLease();
  return supervisor;
}

// ----------------------------------------------------------------------------------- the worker

void Pc::StartWorker() {
  if (!on() || worker_ != nullptr) return;
  context_->trace.Note(name_, ": worker starts");
  ++quiet_;
  const auto worker = std::make_shared<Worker>(context_, this);
  worker_ = worker;
  worker->Start();
}

void Pc::CrashWorker() {
  if (worker_ == nullptr) return;
  context_->trace.Note(name_, ": worker dies");
  const std::shared_ptr<Worker> dying = std::exchange(worker_, nullptr);
  dying->Kill();
  WorkerEnded();
}

void Pc::FreezeWorker(absl::Duration d) {
  worker_->Freeze();
  context_->agenda.AfterFor(worker_, d, [this, frozen = worker_.get()] {
    if (worker_.get() != frozen) return;
    context_->trace.Note(name_, ": its worker goes on");
    ++quiet_;
    frozen->Thaw();
  });
}

void Pc::WorkerEnded() {
  worker_ = nullptr;
  Random& random = context_->random;
  const bool slow = !context_->healing && random.Chance(0.1);
  const absl::Duration pause = slow ? random.Between(absl::Seconds(5), absl::Minutes(2))
                                    : random.Between(absl::Milliseconds(100), absl::Seconds(2));
  context_->agenda.After(pause, [this] { gate_.Run([this] { StartWorker(); }); });
}

void Pc::CrashSupervisor() {
  std::vector<AttemptRef> live;
  for (const auto& [ref, folder] : folders) {
    if (folder.supervisor != nullptr && !folder.supervisor->gone()) live.push_back(ref);
  }
  if (live.empty() || !on()) return;
  const AttemptRef ref =
      live[static_cast<size_t>(context_->random.Below(static_cast<int>(live.size())))];
  context_->trace.Note(name_, ": the supervisor of ", ref.ToString(), " dies");
  const bool had_ranks = folders[ref].supervisor->HasRanks();
  folders[ref].supervisor->Kill();
  if (had_ranks) bonds_->Closed(ref);
  if (worker_ != nullptr) worker_->OnSupervisorDied(ref);
}

void Pc::FreezeSupervisors(absl::Duration d) {
  if (!on()) return;
  for (const auto& [ref, folder] : folders) {
    if (folder.supervisor != nullptr && !folder.supervisor->gone()) folder.supervisor->Freeze(d);
  }
}

// --------------------------------------------------------------------------------------- the PC

void Pc::KillEverything() {
  if (const std::shared_ptr<Worker> dying = std::exchange(worker_, nullptr)) dying->Kill();
  Random& random = context_->random;
  for (auto it = folders.begin(); it != folders.end();) {
    if (it->second.supervisor != nullptr) {
      it->second.supervisor->Kill();
      if (random.Chance(0.3)) it->second.supervisor->LoseTail(static_cast<size_t>(random.Below(3)));
    }
    it = random.Chance(0.1) ? folders.erase(it) : std::next(it);
  }
  if (power_ == Power::kSuspended) census_->Resumed(name_);
  gate_.Drop();
  gate_.Open();
}

void Pc::PowerLoss(absl::Duration off) {
  if (power_ == Power::kOff) return;
  context_->trace.Note(name_, ": loses its power");
  link_.BreakAll();
  KillEverything();
  power_ = Power::kOff;
  const uint64_t change = ++power_changes_;
  context_->agenda.After(off, [this, change] {
    if (change == power_changes_) Boot();
  });
}

void Pc::ShutDown(absl::Duration off) {
  if (!on()) return;
  context_->trace.Note(name_, ": goes down");
  Random& random = context_->random;
  const uint64_t boot = power_changes_;
  const auto soon = [&](const std::function<void()>& what) {
    const absl::Duration d = random.Between({}, absl::Milliseconds(random.Chance(0.5) ? 20 : 400));
    context_->agenda.After(d, [this, boot, what] {
      if (boot == power_changes_) what();
    });
  };
  // Ranks and their supervisor are in one cgroup, so either both are told or none.
  std::vector<Folder> there;
  for (const auto& [ref, folder] : folders) {
    if (folder.supervisor != nullptr) there.push_back(folder);
  }
  soon([there] {
    for (const Folder& folder : there) folder.supervisor->TellRanks();
  });
  soon([there] {
    for (const Folder& folder : there) {
      if (folder.supervisor->gone()) continue;
      folder.supervisor->Stop(folder.prepare.stop_grace, kSigterm);
    }
  });
  soon([this] {
    if (worker_ != nullptr) worker_->ShutDown(false);
  });
  context_->agenda.After(random.Between(absl::Milliseconds(500), absl::Seconds(3)),
                         [this, boot, off] {
                           if (boot == power_changes_) PowerLoss(off);
                         });
}

std::optional<absl::Duration> Pc::SinceToldToEnd() const {
  if (!told_to_end_) return std::nullopt;
  return now().mono - *told_to_end_;
}

void Pc::TurnOff() {
  if (!on()) return;
  context_->trace.Note(name_, ": is turned off");
  KillEverything();
  power_ = Power::kOff;
  ++power_changes_;
}

void Pc::Suspend(absl::Duration asleep) {
  if (!on()) return;
  context_->trace.Note(name_, ": is suspended");
  power_ = Power::kSuspended;
  suspended_at_ = context_->now();
  gate_.Close();
  link_.BreakAll();
  census_->Suspended(name_);
  const uint64_t change = ++power_changes_;
  if (asleep == absl::InfiniteDuration()) return;
  context_->agenda.After(asleep, [this, change] {
    if (change == power_changes_) Resume();
  });
}

void Pc::WakePacket() {
  if (on() || (!context_->healing && context_->random.Chance(0.4))) return;
  const uint64_t change = power_changes_;
  context_->agenda.After(context_->random.Between(absl::Seconds(1), absl::Seconds(20)),
                         [this, change] {
                           if (change == power_changes_) WakeUp();
                         });
}

void Pc::WakeUp() { power_ == Power::kOff ? Boot() : Resume(); }

void Pc::Boot() {
  if (power_ != Power::kOff) return;
  ++boots_;
  told_to_end_.reset();
  for (const auto& [ref, folder] : folders) {
    for (int32_t i = 0; i < folder.prepare.ranks; ++i) {
      census_->blame().LoseTime(ref, folder.prepare.first_rank + i);
    }
  }
  ++power_changes_;
  power_ = Power::kOn;
  context_->trace.Note(name_, ": boots");
  StartWorker();
}

void Pc::Resume() {
  if (power_ != Power::kSuspended) return;
  const absl::Duration slept = context_->now() - suspended_at_;
  context_->trace.Note(name_, ": resumes");
  slept_ += slept;
  slept_untold_ += slept;
  ++power_changes_;
  power_ = Power::kOn;
  ++quiet_;
  census_->Resumed(name_);
  gate_.Open();
  if (worker_ != nullptr) worker_->OnResumed();
}

void Pc::HealAll() {
  link_.Heal();
  WakeUp();
  if (worker_ == nullptr) StartWorker();
  worker_->Thaw();
  for (auto& [ref, folder] : folders) {
    if (folder.supervisor != nullptr) folder.supervisor->FinishSoon();
  }
}

}  // namespace hpc::sim
