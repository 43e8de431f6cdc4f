// A node's clock compared with the coordinator's.
//
// A report may lie in a socket for seconds, so the time at which it is read says little about when
// it was sent. A node therefore says with each report what its own clock shows. From that, this
// class derives two bounds on how far the coordinator's clock is ahead of the node's:
//
//   the node said something at 100.0 s, which was read at 507.3 s:   ahead by 407.3 s at most
//   at 100.2 s the node had heard what was told at 507.4 s:          ahead by 407.2 s at least
//
// The narrowest bounds are kept. They widen with time, since two clocks never run equally fast.
#ifndef HPC_COORDINATOR_CORE_VALUES_NODE_CLOCK_H_
#define HPC_COORDINATOR_CORE_VALUES_NODE_CLOCK_H_

#include <optional>

#include "absl/time/time.h"
#include "common/clock.h"

namespace hpc::coordinator {

// Something happened between these two moments of the coordinator's clock.
struct Window {
  MonoTime earliest;
  MonoTime latest;

  static Window Exactly(MonoTime at) { return {at, at}; }
  bool SurelyBefore(const Window& other) const { return latest < other.earliest; }

  bool operator==(const Window&) const = default;
};

// The same on a node's clock.
struct NodeWindow {
  absl::Duration earliest;
  absl::Duration latest;
  int era = 0;  // NodeClock::era() at that time

  bool operator==(const NodeWindow&) const = default;
};

// When something happened on a node, on both clocks.
struct Moment {
  Window when;
  std::optional<NodeWindow> there;  // unset if the node did not say its time
};

// What a node's clock shows. It counts from an unknown moment.
struct NodeTimes {
  absl::Duration said;  // when it said what is being read now
  // Only a heartbeat also says these: when it sent the newest earlier heartbeat that it knows to be
  // heard, and when it learned that. Zero: none.
  bool heartbeat = false;
  absl::Duration heard_beat;
  absl::Duration heard_at;
};

class NodeClock {
 public:
  // The longest delay that a report may have beyond that of the quickest one so far. This holds
  // while it is not known when the node heard the coordinator. A hello is as old as the attempt to
  // connect that it came with, and a worker gives such an attempt up after this time.
  static constexpr absl::Duration kUnheard = absl::Seconds(10);

  // A report that was under way for so long longer than the quickest one was held up.
  static constexpr absl::Duration kHeldUp = absl::Seconds(1);

  // The node's clock counts from the beginning again, as it does when the PC starts.
  void Restart();
  // Times on the node's clock can be compared only within one era.
  int era() const { return era_; }
  // A new connection begins. What is read from now on does not say what the clock showed, until it
  // is given to Take.
  void Untold() {
    said_.reset();
    beat_said_ = {};
    beat_before_last_.reset();
  }
  // `times` came with what is read at `now`.
  void Take(const NodeTimes& times, MonoTime now);
  bool told() const { return said_.has_value(); }
  // What the node's clock showed at the heartbeat before the last one. Nothing if the node has sent
  // fewer than two heartbeats since it connected.
  const std::optional<absl::Duration>& BeatBeforeLast() const { return beat_before_last_; }
  // When something happened that was `ago` before the node said what was read last. If that did not
  // say the node's time, it counts as said when it is read.
  Window Before(absl::Duration ago, MonoTime now) const {
    return said_ ? At(*said_ - ago, now) : Window::Exactly(now - ago);
  }
  // The same on both clocks, where it may have happened up to `within` earlier.
  Moment Before(absl::Duration ago, absl::Duration within, MonoTime now) const;

  // When something happened before the clock counted from the beginning again, as far as
  // `when` tells. No comparison of clocks can narrow it.
  Moment BeforeRestart(const Window& when) const { return {when, NodeWindow{{}, {}, era_ - 1}}; }

  // Something happened `when`, as was known until now, and at `there` on the node's clock. Returns
  // when it happened as is known by now: the window never becomes wider.
  Window Narrow(const Window& when, const NodeWindow& there, MonoTime now) const;

  // The last time for which what the node said was held up on its way: from when the first such
  // report was sent to when the last one was read.
  const std::optional<Window>& held_up() const { return held_up_; }

  // Its clock showed `said` when it said what is read at `now`.
  void Said(absl::Duration said, MonoTime now);
  // Its clock showed `heard` when it had heard what was told at `told`.
  void Heard(absl::Duration heard, MonoTime told, MonoTime now);

  // Whether there is a known bound on how long a report can have been under way.
  bool bounded() const { return least_.has_value(); }
  // The coordinator's time when the node's clock showed `when`. Said must have been called before.
  Window At(absl::Duration when, MonoTime now) const;

 private:
  struct Bound {
    absl::Duration ahead;  // how far the coordinator's clock is ahead of the node's
    MonoTime known;
  };
  static absl::Duration Drift(const Bound& bound, MonoTime now);
  absl::Duration Most(MonoTime now) const { return most_.ahead + Drift(most_, now); }
  absl::Duration Least(MonoTime now) const { return least_->ahead - Drift(*least_, now); }

  int era_ = 0;
  Bound most_{absl::InfiniteDuration(), {}};
  std::optional<Bound> least_;
  std::optional<absl::Duration> said_;
  std::optional<Window> held_up_;
  // When the heartbeat that was read last was sent. A later one may say when its answer was heard.
  absl::Duration beat_said_;
  MonoTime beat_read_{};
  std::optional<absl::Duration> beat_before_last_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_NODE_CLOCK_H_
