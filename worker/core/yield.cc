#include "worker/core/yield.h"

#include <algorithm>

namespace hpc::worker {

Yield::Yield(Now now, const OwnerState& saved) : state_(saved) {
  if (state_.reclaimed && state_.until != absl::InfiniteFuture()) {
    lend_at_ = now.mono + (state_.until - now.wall);
  }
}

void Yield::Reclaim(Now now, const YieldRequest& request) {
  const bool local = request.trigger != YieldTrigger::kCoordinator;
  if (!state_.reclaimed) {
    began_ = now.mono;
    overdue_at_ = now.mono + request.grace + kSlack;
  }
  state_.reclaimed = true;
  state_.until = request.duration ? now.wall + *request.duration : absl::InfiniteFuture();
  state_.reason = request.reason;
  state_.trigger = request.trigger;
  state_.unsent = local;
  lend_at_ = request.duration ? now.mono + *request.duration : MonoTime::Infinite();
}

void Yield::Lend(Now, YieldTrigger trigger) {
  state_ = OwnerState{};
  state_.trigger = trigger;
  state_.unsent = trigger != YieldTrigger::kCoordinator;
  lend_at_ = MonoTime::Infinite();
  began_.reset();
  overdue_at_ = MonoTime::Infinite();
}

std::optional<absl::Duration> Yield::OnPcFree(Now now) {
  if (!began_) return std::nullopt;
  last_return_ = now.mono - *began_;
  began_.reset();
  overdue_at_ = MonoTime::Infinite();
  return last_return_;
}

Yield::Due Yield::Tick(Now now) {
  if (state_.reclaimed && lend_at_ <= now.mono) {
    const bool unsent = state_.unsent;
    Lend(now, state_.trigger);
    // If the coordinator has heard of the wish, both sides know its time limit.
    state_.unsent = unsent;
    return Due::kTimeUp;
  }
  if (overdue_at_ <= now.mono) {
    overdue_at_ = MonoTime::Infinite();
    return Due::kOverdue;
  }
  return Due::kNothing;
}

MonoTime Yield::NextDeadline() const { return std::min(lend_at_, overdue_at_); }

std::optional<absl::Duration> Yield::Left(Now now) const {
  if (!state_.reclaimed || lend_at_ == MonoTime::Infinite()) return std::nullopt;
  return std::max(absl::ZeroDuration(), lend_at_ - now.mono);
}

}  // namespace hpc::worker
