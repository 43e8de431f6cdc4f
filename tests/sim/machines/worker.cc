#include "tests/sim/machines/worker.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "tests/sim/machines/adopted.h"

namespace hpc::sim {

namespace wo = hpc::worker;

namespace {

bool FindsNothing(const Context& context) {
  const Bug bug = context.options.bug;
  return bug == Bug::kForgetAdopted || bug == Bug::kNewBootId;
}

}  // namespace

Worker::Worker(Context* context, Pc* pc)
    : context_(context),
      pc_(pc),
      incarnation_(context->random.Next()),
      gate_(&context->agenda, &context->random),
      agent_(pc->name(), pc->now(),
             context->options.bug == Bug::kForgetOwner ? wo::OwnerState() : pc->owner,
             FindsNothing(*context) ? std::vector<wo::AdoptedAttempt>() : AdoptedFrom(context, *pc),
             pc->SinceToldToEnd()) {}

void Worker::Start() {
  pc_->TakeSlept();  // before this process began: its clocks know nothing of it
  Adopt();
  Tick();
}

void Worker::Do(std::function<void()> what, Gate::Side side) {
  pc_->gate()->Run(
      [self = shared_from_this(), what = std::move(what), side] {
        if (self->dead_) return;  // what its gate keeps would keep it
        self->gate_.Run(
            [self, what] {
              if (!self->dead_) what();
            },
            side);
      },
      side);
}

void Worker::Later(absl::Duration d, std::function<void()> what, Gate::Side side) {
  context_->agenda.AfterFor(shared_from_this(), d,
                            [this, what = std::move(what), side] { Do(what, side); });
}

void Worker::Decide(const Event& event) {
  NoticeSleep();
  if (dead_) return;
  wo::Effects fresh;
  event(pc_->now(), &fresh);
  effects_.insert(effects_.end(), std::make_move_iterator(fresh.begin()),
                  std::make_move_iterator(fresh.end()));
  if (deciding_) return;
  deciding_ = true;
  while (!effects_.empty() && !dead_) {
    if (effects_left_ >= 0 && effects_left_-- == 0) return pc_->CrashWorker();
    const wo::Effect effect = std::move(effects_.front());
    effects_.pop_front();
    std::visit([this](const auto& one) { Carry(one); }, effect);
  }
  deciding_ = false;
  SetTimer();
  ExitIfReady();
}

// This comes before anything else, since times that were measured before the sleep mean something
// else now.
void Worker::NoticeSleep() {
  const absl::Duration slept = deciding_ ? absl::ZeroDuration() : pc_->TakeSlept();
  if (slept == absl::ZeroDuration()) return;
  Decide([&](Now now, wo::Effects* effects) { agent_.OnResumed(now, slept, effects); });
}

void Worker::Tick() {
  Decide([this](Now now, wo::Effects* effects) {
    agent_.Tick(now, effects);
    if (!context_->Bugged(Bug::kNoFencing)) return;
    effects->erase(std::remove_if(effects->begin(), effects->end(),
                                  [](const wo::Effect& e) {
                                    return std::holds_alternative<wo::StopAttempt>(e);
                                  }),
                   effects->end());
  });
}

void Worker::SetTimer() {
  const MonoTime next = agent_.NextDeadline();
  const uint64_t timer = ++timer_;
  if (next == MonoTime::Infinite()) return;
  Later(next - pc_->now().mono, [this, timer] {
    if (timer == timer_) Tick();
  });
}

void Worker::Kill() {
  dead_ = true;
  gate_.Drop();
  if (stream_ != nullptr) stream_->WorkerDied();
  for (auto& [ref, runner] : runners_) {
    if (runner.supervisor != nullptr) runner.supervisor->Detach();
  }
}

void Worker::OnResumed() {
  Do([this] { Tick(); });
}

void Worker::ShutDown(bool stop_ranks) {
  pc_->NoteToldToEnd();
  Do([this, stop_ranks] {
    Decide([&](Now now, wo::Effects* effects) {
      leaving_ = true;  // not before the end of a sleep that ends now is handled
      agent_.Leave(now, {"its worker was stopped", /*stays_on=*/true}, {}, stop_ranks, effects);
    });
  });
}

void Worker::ExitIfReady() {
  if (!leaving_) return;
  // The attempt that returned last may have made it ready.
  if (!agent_.ReadyToExit() && agent_.live_attempts() == 0) return Tick();
  if (!agent_.ReadyToExit()) return;
  leaving_ = false;
  if (stream_ != nullptr) stream_->CloseByWorker();
  Later(absl::Milliseconds(200), [this] {
    const auto self = shared_from_this();
    Kill();
    pc_->WorkerEnded();
  });
}

// ------------------------------------------------------------------------------ the coordinator

bool Worker::Connected() const {
  return !dead_ && stream_ != nullptr && stream_->works() && agent_.connection().connected();
}

void Worker::OnMessage(const Stream* from, const protocol::CoordinatorMessage& message) {
  Do(
      [this, from, message] {
        NoticeSleep();  // this gives the stream up
        if (from != stream_.get()) return;
        if (const auto* doubt = std::get_if<protocol::Doubt>(&message);
            doubt != nullptr && context_->Bugged(Bug::kForgetDoubt)) {
          return stream_->Send(
              Up(protocol::WorkerMessage(protocol::Doubted{doubt->ref, doubt->asked})));
        }
        NoteGrace(message);
        Decide([&](Now now, wo::Effects* effects) {
          const auto* heard = std::get_if<protocol::Heard>(&message);
          if (heard != nullptr) heard_ = {heard->sent, context_->now()};
          agent_.OnMessage(
              now, heard == nullptr ? message : protocol::Heard{pc_->MonoOf(heard->sent)}, effects);
        });
      },
      Gate::Side::kCoordinator);
}

// What the coordinator lets ranks have.
void Worker::NoteGrace(const protocol::CoordinatorMessage& message) {
  if (const auto* stop = std::get_if<protocol::Stop>(&message)) {
    pc_->graces().Gives(stop->ref, pc_->name(), stop->grace);
  }
  const auto* owner = std::get_if<protocol::SetOwner>(&message);
  if (owner != nullptr && owner->grace) {
    for (const auto& [ref, folder] : pc_->folders) {
      pc_->graces().Gives(ref, pc_->name(), *owner->grace);
    }
  }
  const auto* forget = std::get_if<protocol::Forget>(&message);
  if (forget != nullptr && pc_->folders.contains(forget->ref)) {
    pc_->graces().Gives(forget->ref, pc_->name(), pc_->folders.at(forget->ref).prepare.stop_grace);
  }
}

void Worker::OnClosed(const Stream* from, const absl::Status& why) {
  Do(
      [this, from, why] {
        NoticeSleep();
        if (from != stream_.get()) return;
        stream_ = nullptr;
        const double jitter = context_->random.Unit();
        const absl::Status reason = why.ok() ? absl::UnavailableError("ended") : why;
        Decide([&](Now now, wo::Effects* effects) {
          agent_.OnLinkClosed(now, reason, jitter, effects);
        });
      },
      Gate::Side::kCoordinator);
}

void Worker::Carry(const wo::OpenLink& effect) {
  protocol::Hello hello = effect.hello;
  hello.node = pc_->name();
  hello.incarnation = incarnation_;
  hello.boot_id = pc_->boot_id();
  if (context_->Bugged(Bug::kNewBootId)) absl::StrAppend(&hello.boot_id, ".", incarnation_);
  hello.address = pc_->address();
  hello.can_vouch = pc_->can_vouch();
  hello.inventory = pc_->inventory();
  heard_ = {};
  stream_ = pc_->link().Open(shared_from_this(), pc_->coordinator()(), std::move(hello));
}

void Worker::Carry(const wo::CloseLink&) {
  if (stream_ != nullptr) stream_->CloseByWorker();
  stream_ = nullptr;
}

void Worker::Carry(const wo::Say& effect) {
  if (stream_ != nullptr) stream_->Send(Up(effect.message));
}

void Worker::Carry(const wo::SayHeartbeat& effect) {
  if (stream_ == nullptr) return;
  stream_->Send(
      Up(Heartbeat{context_->now(), effect.answer_may_wait, heard_.first, heard_.second}));
  // Ranks log that a checkpoint is whole.
  for (const auto& [ref, attempt] : agent_.attempts()) {
    if (attempt.running_ranks() == 0 || !context_->random.Chance(0.1)) continue;
    stream_->Send(
        Up(protocol::WorkerMessage(protocol::MetricData{.ref = ref, .checkpoint_saved = true})));
  }
}

// ------------------------------------------------------------------------- the owner, the power

void Worker::Reclaim(const wo::YieldRequest& request, std::function<void()> done) {
  Do([this, request, done] {
    for (const auto& [ref, folder] : pc_->folders) {
      pc_->graces().Gives(ref, pc_->name(), request.grace);
    }
    Decide([&](Now now, wo::Effects* effects) { agent_.Reclaim(now, request, effects); });
    if (!dead_) done();
  });
}

void Worker::Lend(std::function<void()> done) {
  Do([this, done] {
    Decide([this](Now now, wo::Effects* effects) { agent_.Lend(now, effects); });
    if (!dead_) done();
  });
}

void Worker::Carry(const wo::SaveOwner& effect) { pc_->SaveOwner(effect.state); }

// Power commands run one after the other, and any of them may hang for a while.
void Worker::Carry(const wo::Sleep& effect) {
  Random& random = context_->random;
  const absl::Duration waits = std::max(power_free_ - context_->now(), absl::ZeroDuration());
  absl::Duration takes = random.Between(absl::Milliseconds(50), absl::Seconds(1));
  if (!context_->healing && random.Chance(0.4)) {
    takes = random.Between(absl::Seconds(1), absl::Minutes(2));
  }
  power_free_ = context_->now() + waits + takes;
  if (context_->Bugged(Bug::kPowerEndedEarly)) agent_.OnPowerCommandEnded();
  if (waits > absl::ZeroDuration()) {
    Later(waits, [this] {
      if (!agent_.yield().reclaimed()) return;
      context_->verdict.Broken("owner-stays-awake", pc_->name(),
                               " begins to go to sleep under its owner");
    });
  }
  Later(waits + takes, [this, effect] {
    const int outcome = context_->random.Below(10);
    Decide([&](Now, wo::Effects* effects) {
      agent_.OnPowerCommandEnded();
      outcome < 2 ? agent_.OnSleepFailed("no such command", effects)
                  : agent_.OnFallingAsleep(effect.reason, effects);
    });
    if (outcome < 3) return;  // 2: the command was accepted, and nothing happens
    Later(context_->random.Between({}, absl::Seconds(1)), [this, outcome] {
      outcome < 6 ? pc_->Suspend(absl::InfiniteDuration()) : pc_->TurnOff();
    });
  });
}

void Worker::Carry(const wo::Note& effect) {
  context_->trace.Note("  ", pc_->name(), ": ", effect.text);
}

// ------------------------------------------------------------------------------------- attempts

void Worker::Carry(const wo::PrepareAttempt& effect) {
  const protocol::Prepare& prepare = effect.prepare;
  runners_[prepare.ref].planning = true;
  Random& random = context_->random;
  absl::Duration takes = random.Between(absl::Milliseconds(1), absl::Milliseconds(100));
  if (!context_->healing && random.Chance(0.02)) takes = random.Between({}, absl::Seconds(30));
  Later(takes / 2, [this, prepare] {
    pc_->folders[prepare.ref] = {prepare, nullptr, false, pc_->boot_id()};
  });
  Later(takes, [this, prepare] { OnPlan(prepare); });
}

void Worker::OnPlan(const protocol::Prepare& prepare) {
  Runner& runner = runners_[prepare.ref];
  runner.planning = false;
  protocol::Prepared prepared{prepare.ref, absl::OkStatus(), "", 0, true};
  if (absl::StartsWith(prepare.run_name, "missing")) {
    prepared.status = absl::NotFoundError("command not found");
  } else if (!context_->healing && context_->random.Chance(0.01)) {
    prepared.status = absl::UnavailableError("disk full");
  }
  if (runner.stopped || !prepared.status.ok()) {
    pc_->folders.erase(prepare.ref);
    return Decide([&, stopped = runner.stopped](Now now, wo::Effects* effects) {
      stopped ? agent_.OnReturned(now, prepare.ref, {}, effects)
              : agent_.OnPrepared(now, prepared, effects);
    });
  }
  if (prepare.node_rank == 0) {
    prepared.store_addr = pc_->address();
    prepared.store_port = 20000 + context_->random.Below(20000);
  }
  if (prepare.peers.size() > 1) prepared.recall.port = 20000 + context_->random.Below(20000);
  auto supervisor = pc_->MakeSupervisor(prepare, agent_.connection().SupervisorLease());
  pc_->folders[prepare.ref].supervisor = supervisor;
  Attach(prepare.ref, supervisor);
  Decide([&](Now now, wo::Effects* effects) { agent_.OnPrepared(now, prepared, effects); });
}

void Worker::Attach(AttemptRef ref, const std::shared_ptr<Supervisor>& supervisor) {
  Runner& runner = runners_[ref];
  runner.supervisor = supervisor;
  const auto tell = [this, ref](const JournalEntry& entry) {
    MonoTime& free = runners_[ref].events_free;
    free = std::max(free, context_->now() + context_->random.Between({}, absl::Milliseconds(10)));
    Later(
        free - context_->now(), [this, ref, entry] { OnEvent(ref, entry); },
        Gate::Side::kSupervisors);
  };
  for (const JournalEntry& entry : supervisor->journal()) tell(entry);
  supervisor->Attach(tell);
}

void Worker::Adopt() {
  if (FindsNothing(*context_)) return;
  for (const auto& [ref, folder] : pc_->folders) {
    if (agent_.attempts().at(ref).phase() == wo::Attempt::Phase::kReturned) continue;
    if (folder.supervisor != nullptr && !folder.supervisor->gone()) {
      Attach(ref, folder.supervisor);
      if (folder.witnessed) BeginWitnessing(ref);
    } else {
      runners_[ref];
      KillLeftovers(ref, context_->now(), absl::ZeroDuration());
    }
  }
}

absl::Duration Worker::Ago(MonoTime at) const { return context_->now() - at; }

void Worker::OnEvent(AttemptRef ref, const JournalEntry& entry) {
  const auto found = runners_.find(ref);
  if (found == runners_.end()) return;
  Runner& runner = found->second;
  Decide([&](Now now, wo::Effects* effects) {
    if (const auto* started = std::get_if<RankStarted>(&entry.event)) {
      runner.started[started->rank] = entry.at;
      agent_.OnRankStarted(now, ref, started->rank, started->pid, Ago(entry.at), effects);
    } else if (const auto* exited = std::get_if<RankExited>(&entry.event)) {
      protocol::RankAges ago;
      if (runner.started.contains(exited->rank)) {
        ago = {Ago(runner.started[exited->rank]), Ago(entry.at), entry.within};
      }
      agent_.OnRankExited(now, ref, exited->rank, exited->exit, ago, effects);
    } else if (const auto* stop = std::get_if<StopBegan>(&entry.event)) {
      const protocol::HaltKind own = OwnReason(stop->reason);
      if (own != protocol::HaltKind::kNone) {
        agent_.OnStoppedItself(now, ref, {own, stop->reason, Ago(entry.at), SpreadOf(stop->reason)},
                               effects);
      }
    } else {
      agent_.OnReturned(now, ref, {}, effects);
    }
  });
}

void Worker::OnSupervisorDied(AttemptRef ref) {
  const auto found = runners_.find(ref);
  if (found == runners_.end()) return;
  const MonoTime died = context_->now();
  const MonoTime last = std::max(found->second.events_free, died);
  Later(
      last - died + absl::Milliseconds(1),
      [this, ref, died] {
        const MonoTime found_at = context_->now();
        KillLeftovers(ref, found_at, found_at - died);
      },
      Gate::Side::kSupervisors);
}

void Worker::KillLeftovers(AttemptRef ref, MonoTime found_at, absl::Duration within) {
  Later(context_->random.Between({}, absl::Milliseconds(500)), [this, ref, found_at, within] {
    Decide([&](Now now, wo::Effects* effects) {
      agent_.OnReturned(
          now, ref,
          {protocol::HaltKind::kSupervisorLost, "its supervisor was killed", Ago(found_at), within},
          effects);
    });
  });
}

// The command goes over the supervisor's socket, and still arrives if this process ends.
void Worker::Command(const Runner& runner, std::function<void(Supervisor*)> command) {
  if (runner.supervisor == nullptr) return;
  const std::weak_ptr<Supervisor> weak = runner.supervisor;
  context_->agenda.After(absl::Milliseconds(1), [weak, command, gate = pc_->gate()] {
    gate->Run([weak, command] {
      if (const auto alive = weak.lock()) command(alive.get());
    });
  });
}

void Worker::Carry(const wo::StartAttempt& effect) {
  if (effect.start.witnessed) {
    pc_->folders[effect.start.ref].witnessed = true;
    BeginWitnessing(effect.start.ref);
  }
  Command(runners_[effect.start.ref], [start = effect.start](Supervisor* s) { s->Start(start); });
}

void Worker::Carry(const wo::StopAttempt& effect) {
  const auto found = runners_.find(effect.ref);
  if (found == runners_.end()) return;
  found->second.stopped = true;
  const bool live = found->second.supervisor != nullptr;
  if (live && context_->Bugged(Bug::kReturnEarly) && stream_ != nullptr) {
    stream_->Send(Up(protocol::WorkerMessage(protocol::AttemptReturned{effect.ref, {}})));
  }
  if (effect.halt != protocol::HaltKind::kNone && pc_->folders.contains(effect.ref)) {
    constexpr absl::Duration kOwnGrace = absl::Seconds(10);  // what a worker gives by itself
    const absl::Duration theirs = pc_->folders.at(effect.ref).prepare.stop_grace;
    pc_->graces().Gives(effect.ref, pc_->name(), std::min(kOwnGrace, theirs));
  }
  absl::Duration grace = effect.grace;
  if (context_->Bugged(Bug::kShortGrace)) grace = std::min(grace, absl::Seconds(1));
  Command(found->second,
          [effect, grace](Supervisor* s) { s->Stop(grace, effect.reason, effect.halt); });
}

void Worker::Carry(const wo::ExtendLeases&) {
  for (auto& [ref, runner] : runners_) {
    if (runner.supervisor != nullptr) runner.supervisor->ExtendLease();
  }
}

void Worker::Carry(const wo::SetFence& effect) {
  const MonoTime until = pc_->MomentOf(effect.until);
  Command(runners_[effect.ref], [until](Supervisor* s) { s->SetFence(until); });
}

// ------------------------------------------------------------------------------------- witnesses

void Worker::BeginWitnessing(AttemptRef ref) {
  const protocol::Prepare& prepare = pc_->folders.at(ref).prepare;
  Witnessing& one = witnessing_[ref];
  one.witness_node = prepare.peers.front().node;
  if (prepare.node_rank == 0) {
    one.witness = std::make_unique<wo::Witness>(ref, static_cast<int32_t>(prepare.peers.size()));
  } else {
    one.asker = std::make_unique<wo::Asker>(ref, prepare.node_rank);
    Ask(ref);
  }
}

void Worker::Ask(AttemptRef ref) {
  if (!agent_.attempts().contains(ref)) {
    witnessing_.erase(ref);
    return;
  }
  const Witnessing& one = witnessing_.at(ref);
  const MonoTime now = context_->now();
  if (!one.asker->asked() || now - *one.asker->asked() > absl::Seconds(1)) {
    pc_->peers().Send(pc_->name(), one.witness_node,
                      [from = pc_->name(), asked = one.asker->Ask(now, VouchFor(ref))](Worker* w) {
                        w->OnKeepalive(from, asked);
                      });
  }
  Later(absl::Milliseconds(500), [this, ref] {
    if (witnessing_.contains(ref)) Ask(ref);
  });
}

void Worker::OnKeepalive(const std::string& from, const wo::Keepalive& asked) {
  Do([this, from, asked] {
    const auto found = witnessing_.find(asked.ref);
    if (found == witnessing_.end() || found->second.witness == nullptr) return;
    wo::Witness& witness = *found->second.witness;
    auto answer = witness.Answer(context_->now(), asked, Vouches(asked.ref));
    if (!answer) return;
    if (context_->Bugged(Bug::kWholeUnheard)) answer->whole_ago = absl::ZeroDuration();
    pc_->peers().Send(pc_->name(), from,
                      [ref = asked.ref, answer = *answer](Worker* w) { w->OnAnswer(ref, answer); });
    wo::Asker::Seen seen{std::nullopt, witness.HeardAt()};
    if (Vouches(asked.ref)) seen.whole = witness.WholeAt();
    OnSeen(asked.ref, seen);
  });
}

void Worker::OnAnswer(AttemptRef ref, const wo::KeepaliveAnswer& answer) {
  Do([this, ref, answer] {
    const auto found = witnessing_.find(ref);
    if (found == witnessing_.end() || found->second.asker == nullptr) return;
    OnSeen(ref, found->second.asker->OnAnswer(answer));
  });
}

void Worker::OnSeen(AttemptRef ref, const wo::Asker::Seen& seen) {
  Decide([&](Now now, wo::Effects* effects) {
    if (seen.heard) agent_.OnHeardAll(now, ref, pc_->MonoOf(*seen.heard));
    if (seen.whole) agent_.OnWhole(now, ref, pc_->MonoOf(*seen.whole), effects);
  });
}

void Worker::Carry(const wo::RecallRanks& effect) {
  const protocol::Recall& recall = effect.recall;
  const protocol::Recalled recalled{recall.ref, recall.node, absl::OkStatus()};
  // The answer goes to the process that is that PC's worker by then. At worst, that process did not
  // ask.
  const auto answer = [peers = &pc_->peers(), to = pc_->name(), recalled] {
    peers->Send(recalled.node, to, [recalled](Worker* worker) { worker->OnRecalled(recalled); });
  };
  if (context_->Bugged(Bug::kRecallUnanswered)) return OnRecalled(recalled);
  pc_->peers().SendToSupervisor(
      pc_->name(), recall.node, recall.ref,
      [grace = recall.grace, answer](Supervisor* s) { s->Recall(grace, answer); });
}

void Worker::OnRecalled(const protocol::Recalled& recalled) {
  Do([this, recalled] {
    Decide([&](Now, wo::Effects* effects) { agent_.OnRecalled(recalled, effects); });
  });
}

// Deletes the attempt once the coordinator has its output.
void Worker::Drop(AttemptRef ref) {
  Later(context_->random.Between({}, absl::Milliseconds(300)), [this, ref] {
    if (!agent_.connection().connected())
      return Later(absl::Seconds(1), [this, ref] { Drop(ref); });
    pc_->folders.erase(ref);
    runners_.erase(ref);
    agent_.OnDropped(ref);
  });
}

}  // namespace hpc::sim
