#include "coordinator/core/values/node_clock.h"

#include <algorithm>

namespace hpc::coordinator {

// NTP moves a clock by at most a two-thousandth, and there are two clocks.
absl::Duration NodeClock::Drift(const Bound& bound, MonoTime now) {
  return (now - bound.known) / 1000;
}

void NodeClock::Take(const NodeTimes& times, MonoTime now) {
  said_ = times.said;
  Said(times.said, now);
  if (!times.heartbeat) return;
  if (times.heard_beat != absl::ZeroDuration() && times.heard_beat == beat_said_) {
    Heard(times.heard_at, beat_read_, now);
  }
  if (beat_said_ != absl::ZeroDuration()) beat_before_last_ = beat_said_;
  beat_said_ = times.said;
  beat_read_ = now;
}

void NodeClock::Said(absl::Duration said, MonoTime now) {
  const absl::Duration ahead = now.since_zero - said;
  if (most_.ahead == absl::InfiniteDuration() || ahead <= Most(now)) most_ = {ahead, now};
  // The coordinator's PC was suspended, which its clock does not count.
  if (least_ && Least(now) > Most(now)) least_.reset();
}

void NodeClock::Heard(absl::Duration heard, MonoTime told, MonoTime now) {
  const absl::Duration ahead = told.since_zero - heard;
  if (ahead > Most(now)) return;
  if (!least_ || ahead >= Least(now)) least_ = Bound{ahead, now};
}

Window NodeClock::At(absl::Duration when, MonoTime now) const {
  const absl::Duration most = Most(now);
  const absl::Duration least = least_ ? Least(now) : most - kUnheard;
  // Nothing that has been told lies in the future.
  return {std::min(MonoTime{when + least}, now), std::min(MonoTime{when + most}, now)};
}

}  // namespace hpc::coordinator
