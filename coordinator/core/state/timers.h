// Deadlines that are waited for: at most one for each (kind, subject).
#ifndef HPC_COORDINATOR_CORE_STATE_TIMERS_H_
#define HPC_COORDINATOR_CORE_STATE_TIMERS_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "common/clock.h"

namespace hpc::coordinator {

// Alarms of one instant ring in this order.
enum class Alarm {
  kLease = 1,       // node: is it still heard?
  kPower = 2,       // node: the next wake packet, or a deadline of sleeping or waking
  kLend = 3,        // node: its owner's time is over
  kLeaveAlone = 4,  // node: it may be woken for runs again
  kPhase = 5,       // run: what its attempt is doing takes too long
  kFence = 6,       // run: a lost node of its attempt has ended its ranks by now
  kRetry = 7,       // run: its back-off is over
  kRendezvous = 8,  // run: its ranks may have waited long for others
  kLastCall = 9,    // run: it does not wait for more nodes any longer
  kGrow = 10,       // run: it may be time for it to grow
  kHold = 11,       // no subject: what a restored backup did not know has ended by now
  kDoubt = 12,      // node: has it been silent for so long that it may be gone?
  kWord = 13,       // run: what may explain its failures has not been heard by now
};

struct TimerKey {
  Alarm alarm;
  int64_t subject;  // a run's or a node's number

  auto operator<=>(const TimerKey&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const TimerKey& key) {
    return H::combine(std::move(h), key.alarm, key.subject);
  }
};

class Timers {
 public:
  // Replaces an earlier deadline of the same kind and subject. MonoTime::Infinite() is the same as
  // Stop.
  void Set(Alarm alarm, int64_t subject, MonoTime at);
  void Stop(Alarm alarm, int64_t subject);
  // Stops all alarms of this node.
  void StopAllOfNode(int64_t node);

  // Takes the earliest deadline that is not after `now`.
  std::optional<TimerKey> PopDue(MonoTime now);
  // The earliest deadline; Infinite if there is none.
  MonoTime Next() const;

 private:
  absl::btree_set<std::pair<MonoTime, TimerKey>> by_time_;
  absl::flat_hash_map<TimerKey, MonoTime> times_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_TIMERS_H_
