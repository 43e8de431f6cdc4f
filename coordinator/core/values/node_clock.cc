#include "coordinator/core/values/node_clock.h"

#include <algorithm>

namespace hpc::coordinator {

// NTP changes the speed of a clock by at most 1/2000, and two clocks are compared.
absl::Duration NodeClock::Drift(const Bound& bound, MonoTime now) {
  return (now - bound.known) / 1000;
}

void NodeClock::Restart() {
  const int era = era_;
  *this = NodeClock();
  era_ = era + 1;
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
  if (least_ && ahead > Most(now) + kHeldUp) {
    const MonoTime sent = At(said, now).earliest;
    const bool goes_on = held_up_ && sent <= held_up_->latest;
    held_up_ = Window{goes_on ? held_up_->earliest : sent, now};
  }
  if (most_.ahead == absl::InfiniteDuration() || ahead <= Most(now)) most_ = {ahead, now};
  // The bounds contradict each other if the coordinator's PC was suspended, since its clock does
  // not count that time.
  if (least_ && Least(now) > Most(now)) {
    least_.reset();
    ++era_;
  }
}

void NodeClock::Heard(absl::Duration heard, MonoTime told, MonoTime now) {
  const absl::Duration ahead = told.since_zero - heard;
  if (ahead > Most(now)) return;
  if (!least_ || ahead >= Least(now)) least_ = Bound{ahead, now};
}

Moment NodeClock::Before(absl::Duration ago, absl::Duration within, MonoTime now) const {
  Moment moment{Before(ago, now), std::nullopt};
  moment.when.earliest = moment.when.earliest - within;
  if (said_) moment.there = NodeWindow{*said_ - ago - within, *said_ - ago, era_};
  return moment;
}

Window NodeClock::Narrow(const Window& when, const NodeWindow& there, MonoTime now) const {
  if (!bounded() || there.era != era_) return when;
  const Window known{At(there.earliest, now).earliest, At(there.latest, now).latest};
  const Window both{std::max(when.earliest, known.earliest), std::min(when.latest, known.latest)};
  return both.earliest <= both.latest ? both : known;
}

Window NodeClock::At(absl::Duration when, MonoTime now) const {
  const absl::Duration most = Most(now);
  const absl::Duration least = least_ ? Least(now) : most - kUnheard;
  // What has been reported cannot lie in the future.
  return {std::min(MonoTime{when + least}, now), std::min(MonoTime{when + most}, now)};
}

}  // namespace hpc::coordinator
