#include "worker/core/attempt.h"

#include <algorithm>

namespace hpc::worker {

Attempt::Attempt(const Prepare& prepare)
    : ref_(prepare.ref), devices_(prepare.devices), stop_grace_(prepare.stop_grace) {
  for (int32_t i = 0; i < prepare.ranks; ++i) ranks_[prepare.first_rank + i];
}

Attempt::Attempt(MonoTime now, const AdoptedAttempt& adopted)
    : ref_(adopted.ref),
      devices_(adopted.devices),
      stop_grace_(adopted.stop_grace),
      phase_(adopted.returned  ? Phase::kReturned
             : adopted.started ? Phase::kRunning
                               : Phase::kPrepared),
      start_asked_(adopted.started),
      start_said_(adopted.started),
      lost_reason_(adopted.lost_reason) {
  if (adopted.started) started_at_ = now - adopted.running_for;
  for (const AdoptedAttempt::Rank& rank : adopted.ranks) {
    ranks_[rank.rank] = {rank.pid, rank.exit, now - rank.ended_ago};
  }
}

void Attempt::OnPrepareAgain(Effects* effects) const {
  if (prepared_) effects->push_back(Say{*prepared_});
}

void Attempt::OnStart(MonoTime now, const Start& start, Effects* effects) {
  if (phase_ == Phase::kPrepared) {
    phase_ = Phase::kStarting;
    start_asked_ = true;
    started_at_ = now;
    effects->push_back(StartAttempt{start});
  } else if (start_said_) {
    effects->push_back(Say{MakeStarted()});
  } else {
    effects->push_back(Note{true, "attempt " + ref_.ToString() + " was told to start while " +
                                      Name(phase_) + ": ignored"});
  }
}

void Attempt::OnStop(absl::Duration grace, const std::string& reason, Effects* effects) {
  if (!live()) {
    effects->push_back(Say{AttemptReturned{ref_, lost_reason_}});
    return;
  }
  phase_ = Phase::kStopping;
  effects->push_back(StopAttempt{ref_, grace, reason});
}

void Attempt::OnForget(Effects* effects) {
  if (forget_) return;
  forget_ = true;
  if (live()) {
    if (!stopping()) {
      OnStop(stop_grace_, "the coordinator has given this attempt up", effects);
    }
    return;
  }
  phase_ = Phase::kForgotten;
  effects->push_back(DropAttempt{ref_});
}

void Attempt::OnPrepared(const Prepared& prepared, Effects* effects) {
  if (phase_ != Phase::kPreparing) return;  // stopped meanwhile: OnReturned comes
  prepared_ = prepared;
  effects->push_back(Say{prepared});
  if (prepared.status.ok()) {
    phase_ = Phase::kPrepared;
  } else {
    OnReturned("", effects);
  }
}

void Attempt::OnRankStarted(int32_t rank, int64_t pid, Effects* effects) {
  auto it = ranks_.find(rank);
  if (it == ranks_.end()) return;
  it->second.pid = pid;
  SayStartedOnce(effects);
}

void Attempt::OnRankExited(MonoTime now, int32_t rank, const RankExit& exit,
                           absl::Duration ended_ago, Effects* effects) {
  auto it = ranks_.find(rank);
  if (it == ranks_.end() || it->second.exit) return;
  it->second.exit = exit;
  it->second.ended_at = now - ended_ago;
  // The coordinator hears that it started before it hears that it ended.
  SayStartedOnce(effects);
  effects->push_back(Say{RankEnded{ref_, rank, exit, ended_ago}});
}

void Attempt::SayStartedOnce(Effects* effects) {
  const bool all = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& entry) {
    return entry.second.pid != 0 || entry.second.exit;
  });
  if (start_said_ || !all) return;
  start_said_ = true;
  if (phase_ == Phase::kStarting) phase_ = Phase::kRunning;
  effects->push_back(Say{MakeStarted()});
}

Started Attempt::MakeStarted() const {
  Started started{ref_, {}};
  for (const auto& [number, rank] : ranks_) {
    if (rank.pid != 0) started.ranks.push_back({number, rank.pid, std::nullopt, {}});
  }
  return started;
}

void Attempt::OnStoppedItself(const std::string& reason) {
  if (!live() || stopping()) return;
  phase_ = Phase::kStopping;
  lost_reason_ = reason;
}

void Attempt::StopForOurselves(absl::Duration grace, const std::string& reason, Effects* effects) {
  if (!live() || stopping()) return;
  OnStop(grace, reason, effects);
  lost_reason_ = reason;
}

void Attempt::OnReturned(const std::string& lost_reason, Effects* effects) {
  if (!live()) return;
  phase_ = Phase::kReturned;
  if (lost_reason_.empty()) lost_reason_ = lost_reason;
  effects->push_back(Say{AttemptReturned{ref_, lost_reason_}});
  if (forget_) {
    phase_ = Phase::kForgotten;
    effects->push_back(DropAttempt{ref_});
  }
}

HeldAttempt Attempt::Held(MonoTime now) const {
  HeldAttempt held;
  held.ref = ref_;
  held.started = start_asked_;
  held.returned = !live();
  if (start_asked_) held.running_for = now - started_at_;
  held.lost_reason = lost_reason_;
  for (const auto& [number, rank] : ranks_) {
    HeldRank& out = held.ranks.emplace_back(HeldRank{number, rank.pid, rank.exit, {}});
    if (rank.exit) out.ended_ago = now - rank.ended_at;
  }
  return held;
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
