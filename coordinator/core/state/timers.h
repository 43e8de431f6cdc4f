// What waits for time: at most one deadline per (kind, subject).
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
  kLease = 1,       // of a node: is it still heard?
  kPower = 2,       // of a node: the next wake packet, or a deadline of sleeping or waking
  kLend = 3,        // of a node: its owner's time is over
  kLeaveAlone = 4,  // of a node: it may be woken for runs again
  kPhase = 5,       // of a run: what its attempt is doing takes too long
  kFence = 6,       // of a run: a lost node of its attempt has ended its ranks by now
  kRetry = 7,       // of a run: its back-off is over
  kRendezvous = 8,  // of a run: its ranks may have waited for others for long
  kLastCall = 9,    // of a run: it waits for more nodes no longer
  kGrow = 10,       // of a run: it may be time for it to grow
  kHold = 11,       // of no subject: what may run unknown to a restored backup has ended by now
  kDoubt = 12,      // of a node: has it been silent for so long that it may be gone?
  kPeersWord = 13,  // of a run: a rank that others complained of has not ended by now
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
  // Replaces an earlier deadline of the same key. MonoTime::Infinite() is the same as Stop.
  void Set(Alarm alarm, int64_t subject, MonoTime at);
  void Stop(Alarm alarm, int64_t subject);
  // Nothing of this node rings any more.
  void StopAllOfNode(int64_t node);

  // Takes the earliest deadline that is not after `now`.
  std::optional<TimerKey> PopDue(MonoTime now);
  // Infinite when nothing waits.
  MonoTime Next() const;

 private:
  absl::btree_set<std::pair<MonoTime, TimerKey>> by_time_;
  absl::flat_hash_map<TimerKey, MonoTime> times_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_STATE_TIMERS_H_
