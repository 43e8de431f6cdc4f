#include "worker/core/attempt.h"

#include <algorithm>

#include "protocol/sigterm_answer.h"

namespace hpc::worker {

void AdoptedAttempt::Age(absl::Duration passed) {
  for (Rank& rank : ranks) {
    rank.ago.started += passed;
    if (rank.exit) rank.ago.ended += passed;
  }
  halt.ago += passed;
}

Attempt::Attempt(const protocol::Prepare& prepare)
    : ref_(prepare.ref), devices_(prepare.devices), stop_grace_(prepare.stop_grace) {
  for (int32_t i = 0; i < prepare.ranks; ++i) ranks_[prepare.first_rank + i];
  unstarted_ = ranks_.size();
}

Attempt::Attempt(MonoTime now, const AdoptedAttempt& adopted)
    : ref_(adopted.ref),
      devices_(adopted.devices),
      stop_grace_(adopted.stop_grace),
      phase_(adopted.returned                                  ? Phase::kReturned
             : adopted.halt.kind == protocol::HaltKind::kOwner ? Phase::kStopping
             : adopted.started                                 ? Phase::kRunning
                                                               : Phase::kPrepared),
      start_asked_(adopted.started),
      start_said_(adopted.started),
      store_lost_(adopted.store_lost ? std::make_optional(now) : std::nullopt),
      witnessed_(adopted.witnessed),
      heard_all_at_(now) {
  for (const AdoptedAttempt::Rank& rank : adopted.ranks) {
    ranks_[rank.rank] = {rank.pid, rank.exit, now - rank.ago.started, now - rank.ago.ended,
                         rank.ago.ended_within};
  }
  before_boot_ = adopted.before_boot;
  TakeHalt(now, adopted.halt);
  unstarted_ = static_cast<size_t>(std::count_if(
      ranks_.begin(), ranks_.end(), [](const auto& entry) { return entry.second.unstarted(); }));
}

void Attempt::OnPrepareAgain(Effects* effects) const {
  if (prepared_) effects->push_back(Say{*prepared_});
}

void Attempt::OnStart(MonoTime now, const protocol::Start& start, Effects* effects) {
  const bool prepared = phase_ == Phase::kPrepared;
  if (prepared && prepared_) {
    phase_ = Phase::kStarting;
    start_asked_ = true;
    witnessed_ = start.witnessed;
    heard_all_at_ = now;
    effects->push_back(StartAttempt{start});
  } else if (start_said_) {
    effects->push_back(Say{MakeStarted(now)});
  } else {
    effects->push_back(
        Note{true, "attempt " + ref_.ToString() + " was told to start while " + Name(phase_) +
                       (prepared ? " by an earlier worker process" : "") + ": ignored"});
  }
}

void Attempt::OnStop(MonoTime now, const protocol::Stop& stop, Effects* effects) {
  if (!live()) {
    effects->push_back(Say{protocol::AttemptReturned{ref_, HaltAt(now), killed_}});
    return;
  }
  phase_ = Phase::kStopping;
  effects->push_back(StopAttempt{
      .ref = ref_, .grace = stop.grace, .reason = stop.reason, .interrupt = stop.interrupt});
}

void Attempt::OnForget(MonoTime now, Effects* effects) {
  if (forget_) return;
  forget_ = true;
  if (live()) {
    if (!stopping()) {
      OnStop(now, {ref_, stop_grace_, "the coordinator has given this attempt up"}, effects);
    }
    return;
  }
  phase_ = Phase::kForgotten;
  effects->push_back(DropAttempt{ref_});
}

void Attempt::OnPrepared(MonoTime now, const protocol::Prepared& prepared, Effects* effects) {
  if (phase_ != Phase::kPreparing) return;  // it was stopped meanwhile: OnReturned follows
  prepared_ = prepared;
  effects->push_back(Say{prepared});
  if (prepared.status.ok()) {
    phase_ = Phase::kPrepared;
  } else {
    OnReturned(now, {}, effects);
  }
}

void Attempt::OnRankStarted(MonoTime now, int32_t rank, int64_t pid, absl::Duration ago,
                            Effects* effects) {
  auto it = ranks_.find(rank);
  if (it == ranks_.end() || pid == 0) return;
  if (it->second.unstarted()) --unstarted_;
  it->second.pid = pid;
  it->second.started_at = now - ago;
  SayStartedOnce(now, effects);
}

void Attempt::OnRankExited(MonoTime now, int32_t rank, const protocol::RankExit& exit,
                           protocol::RankAges ago, Effects* effects) {
  auto it = ranks_.find(rank);
  if (it == ranks_.end() || it->second.exit) return;
  if (it->second.unstarted()) --unstarted_;
  it->second.exit = exit;
  // Both times are set anew: the ages include time that the machine slept meanwhile.
  it->second.started_at = now - ago.started;
  it->second.ended_at = now - ago.ended;
  it->second.ended_within = ago.ended_within;
  it->second.apart = PartedBefore(it->second.ended_at);
  ago = Ages(it->second, now);
  // The coordinator hears that the attempt started before it hears that a rank ended.
  SayStartedOnce(now, effects);
  effects->push_back(Say{protocol::RankEnded{ref_, rank, exit, ago}});
}

void Attempt::SayStartedOnce(MonoTime now, Effects* effects) {
  if (start_said_ || unstarted_ > 0) return;
  start_said_ = true;
  if (phase_ == Phase::kStarting) phase_ = Phase::kRunning;
  effects->push_back(Say{MakeStarted(now)});
}

protocol::Started Attempt::MakeStarted(MonoTime now) const {
  protocol::Started started{ref_, {}};
  for (const auto& [number, rank] : ranks_) {
    if (rank.pid == 0) continue;
    started.ranks.push_back({number, rank.pid, std::nullopt, {now - rank.started_at, {}}});
  }
  return started;
}

protocol::RankAges Attempt::Ages(const Rank& rank, MonoTime now) {
  protocol::RankAges ago;
  if (rank.pid != 0) ago.started = now - rank.started_at;
  if (rank.exit) {
    ago.ended = now - rank.ended_at;
    ago.ended_within = rank.ended_within;
    if (rank.apart) ago.apart = protocol::Apart{now - rank.apart->from, now - rank.apart->until};
  }
  return ago;
}

// The halt that may have begun first counts. For example, that a supervisor was lost may be found
// only after the owner has come.
void Attempt::TakeHalt(MonoTime now, const protocol::Halt& halt) {
  if (halt.kind == protocol::HaltKind::kNone) return;
  const MonoTime earliest = now - halt.ago - halt.within;
  if (halt_.kind != protocol::HaltKind::kNone && halted_at_ - halt_.within <= earliest) return;
  halt_ = halt;
  halted_at_ = now - halt.ago;
  ReachBackToSigterm();
}

// A PC that goes down sends SIGTERM to all of its processes, and a rank may get it first. So what
// halts the attempt may have begun with the end of that rank.
void Attempt::ReachBackToSigterm() {
  if (halt_.kind != protocol::HaltKind::kLeaving &&
      halt_.kind != protocol::HaltKind::kSupervisorLost)
    return;
  for (const auto& [number, rank] : ranks_) {
    if (!rank.exit || !protocol::MayAnswerSigterm(*rank.exit)) continue;
    const absl::Duration before = halted_at_ - rank.ended_at;
    if (before < absl::ZeroDuration() || before > protocol::kSigtermSpread) continue;
    halt_.within = std::max(halt_.within, before + rank.ended_within);
  }
}

void Attempt::FormerWasToldToEnd(MonoTime now, MonoTime at, const std::string& reason) {
  const bool ended_then = std::any_of(ranks_.begin(), ranks_.end(), [&](const auto& entry) {
    const Rank& rank = entry.second;
    return rank.exit && protocol::MayAnswerSigterm(*rank.exit) && rank.exit->exit_code != 0 &&
           rank.ended_at >= at - protocol::kSigtermSpread &&
           rank.ended_at <= at + protocol::kSigtermSpread;
  });
  if (!ended_then) return;
  TakeHalt(now, {protocol::HaltKind::kLeaving, reason, now - at, protocol::kSigtermSpread});
}

void Attempt::OnWhole(MonoTime at) {
  whole_at_ = std::max(whole_at_, at);
  OnHeardAll(at);
}

void Attempt::OnHeardAll(MonoTime at) {
  if (at <= heard_all_at_) return;
  if (at - heard_all_at_ >= protocol::kApart) parted_ = Parted{heard_all_at_, at};
  heard_all_at_ = at;
}

std::optional<Attempt::Parted> Attempt::PartedBefore(MonoTime ended) const {
  if (!witnessed_) return std::nullopt;
  if (ended - heard_all_at_ >= protocol::kApart) return Parted{heard_all_at_, ended};
  if (!parted_ || parted_->from >= ended) return std::nullopt;
  return Parted{parted_->from, std::min(parted_->until, ended)};
}

protocol::Halt Attempt::HaltAt(MonoTime now) const {
  protocol::Halt halt = halt_;
  if (halt.kind != protocol::HaltKind::kNone) halt.ago = now - halted_at_;
  return halt;
}

void Attempt::SayHalt(MonoTime now, const protocol::Halt& halt, Effects* effects) {
  const protocol::Halt before = halt_;
  TakeHalt(now, halt);
  if (halt_ != before) effects->push_back(Say{protocol::AttemptHalted{ref_, HaltAt(now)}});
}

// The coordinator's order to stop may have been read first. Which of the two happened first is for
// the coordinator to judge.
void Attempt::OnStoppedItself(MonoTime now, const protocol::Halt& halt, Effects* effects) {
  if (!live()) return;
  phase_ = Phase::kStopping;
  SayHalt(now, halt, effects);
}

void Attempt::StopForOurselves(MonoTime now, absl::Duration grace, const protocol::Halt& halt,
                               Effects* effects) {
  if (!live() || stopping()) return;
  phase_ = Phase::kStopping;
  SayHalt(now, halt, effects);
  effects->push_back(StopAttempt{ref_, grace, halt.reason, halt.kind});
}

void Attempt::OnReturned(MonoTime now, const protocol::Halt& halt, Effects* effects,
                         int32_t killed) {
  if (!live()) return;
  returned_at_ = now;
  ended_well_ = !stopping() && halt.kind == protocol::HaltKind::kNone && AllSucceeded();
  phase_ = Phase::kReturned;
  killed_ = killed;
  TakeHalt(now, halt);
  effects->push_back(Say{protocol::AttemptReturned{ref_, HaltAt(now), killed_}});
  if (forget_) {
    phase_ = Phase::kForgotten;
    effects->push_back(DropAttempt{ref_});
  }
}

void Attempt::Fence(MonoTime contact, const protocol::Welcome& welcome, Effects* effects) {
  if (!witnessed_ || !live()) return;
  const MonoTime until = std::max(contact + welcome.contact_limit, whole_at_ + welcome.vouch_limit);
  // Answers come often, and a supervisor need not hear of each.
  if (until < fence_ + welcome.vouch_limit / 8) return;
  fence_ = until;
  effects->push_back(SetFence{ref_, until});
}

void Attempt::OnSlept(absl::Duration slept) {
  whole_at_ = whole_at_ - slept;
  heard_all_at_ = heard_all_at_ - slept;
  fence_ = fence_ - slept;
  halted_at_ = halted_at_ - slept;
  returned_at_ = returned_at_ - slept;
  if (parted_) *parted_ = {parted_->from - slept, parted_->until - slept};
  for (auto& [number, rank] : ranks_) {
    rank.started_at = rank.started_at - slept;
    rank.ended_at = rank.ended_at - slept;
    if (rank.apart) *rank.apart = {rank.apart->from - slept, rank.apart->until - slept};
  }
}

protocol::HeldAttempt Attempt::Held(MonoTime now) const {
  protocol::HeldAttempt held;
  held.ref = ref_;
  held.started = start_asked_;
  held.returned = !live();
  held.halt = HaltAt(now);
  if (store_lost_) held.store_lost = now - *store_lost_;
  held.witnessed = witnessed_;
  held.before_boot = before_boot_;
  for (const auto& [number, rank] : ranks_) {
    held.ranks.push_back({number, rank.pid, rank.exit, Ages(rank, now)});
  }
  return held;
}

bool Attempt::AllSucceeded() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
    const std::optional<protocol::RankExit>& exit = entry.second.exit;
    return exit && exit->exit_code == 0 && !exit->signal && !exit->after_stop;
  });
}

int32_t Attempt::running_ranks() const {
  return static_cast<int32_t>(std::count_if(ranks_.begin(), ranks_.end(), [](const auto& entry) {
    return entry.second.pid != 0 && !entry.second.exit;
  }));
}

const char* Name(Attempt::Phase phase) {
  switch (phase) {
    case Attempt::Phase::kPreparing:
      return "preparing";
    case Attempt::Phase::kPrepared:
      return "prepared";
    case Attempt::Phase::kStarting:
      return "starting";
    case Attempt::Phase::kRunning:
      return "running";
    case Attempt::Phase::kStopping:
      return "stopping";
    case Attempt::Phase::kReturned:
      return "returned";
    case Attempt::Phase::kForgotten:
      return "forgotten";
  }
  return "unknown";
}

}  // namespace hpc::worker
