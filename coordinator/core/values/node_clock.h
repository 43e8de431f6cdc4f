// A node's clock beside the coordinator's.
//
// A report may lie in a socket for seconds before it is read, so its age when it is read says
// little. A node therefore tells with each report what its own clock shows, and this class knows
// between which two bounds the coordinator's clock is ahead of it:
//
//   the node said something at 100.0 s, which was read at 507.3 s:   ahead by 407.3 s at most
//   at 100.2 s the node had heard what was told at 507.4 s:          ahead by 407.2 s at least
//
// The narrowest bounds are kept. They grow with time, since two clocks never run alike.
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

// What a node's clock showed, since an unknown moment.
struct NodeTimes {
  absl::Duration said;  // when it said what is read now
  // Only a heartbeat says these: the newest earlier one that it knows to be heard, and when it
  // learned that. Zero: none.
  bool heartbeat = false;
  absl::Duration heard_beat;
  absl::Duration heard_at;
};

class NodeClock {
 public:
  // How much longer than the quickest report so far one may be under way, while nothing is known of
  // when the node heard the coordinator: a hello is as old as the try to connect that it came with,
  // which a worker gives up after this.
  static constexpr absl::Duration kUnheard = absl::Seconds(10);

  // The node's clock begins anew, as it does when the PC starts.
  void Restart() { *this = NodeClock(); }
  // A new connection begins: what is read from now on does not tell what the clock showed, unless
  // it is Taken.
  void Untold() {
    said_.reset();
    beat_said_ = {};
    beat_before_last_.reset();
  }
  // What is read at `now` tells it.
  void Take(const NodeTimes& times, MonoTime now);
  bool told() const { return said_.has_value(); }
  // What it showed at the heartbeat before the last one; nothing where it has said fewer than two
  // since it connected.
  const std::optional<absl::Duration>& BeatBeforeLast() const { return beat_before_last_; }
  // When something was, `ago` before the node said what was read last. Where that did not tell, it
  // counts as said when it is read.
  Window Before(absl::Duration ago, MonoTime now) const {
    return said_ ? At(*said_ - ago, now) : Window::Exactly(now - ago);
  }

  // Its clock showed `said` when it said what is read at `now`.
  void Said(absl::Duration said, MonoTime now);
  // Its clock showed `heard` when it had heard what was told at `told`.
  void Heard(absl::Duration heard, MonoTime told, MonoTime now);

  // Whether it is known how long a report can have been under way.
  bool bounded() const { return least_.has_value(); }
  // When its clock showed `when`. Something must have been Said.
  Window At(absl::Duration when, MonoTime now) const;

 private:
  struct Bound {
    absl::Duration ahead;  // the coordinator's clock less the node's
    MonoTime known;
  };
  static absl::Duration Drift(const Bound& bound, MonoTime now);
  absl::Duration Most(MonoTime now) const { return most_.ahead + Drift(most_, now); }
  absl::Duration Least(MonoTime now) const { return least_->ahead - Drift(*least_, now); }

  Bound most_{absl::InfiniteDuration(), {}};
  std::optional<Bound> least_;
  std::optional<absl::Duration> said_;
  // The heartbeat that was read last, of which a later one may say when its answer was heard.
  absl::Duration beat_said_;
  MonoTime beat_read_{};
  std::optional<absl::Duration> beat_before_last_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_NODE_CLOCK_H_
