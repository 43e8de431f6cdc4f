// When the ranks of a node that is not heard any more are known to be dead.
//
// Ranks of a witnessed attempt (docs/DESIGN.md) live only as long as their supervisor is told that
// they may. They may live until `contact` after the coordinator last heard their node, or until
// `vouch` after all nodes of the attempt last vouched for one another, whichever is later. So once
// any one of the other nodes has stopped vouching for long enough, the ranks are dead, wherever
// they are.
//
// There is an exception. The others do not wait for a node that has ended its part well, so it
// proves nothing if only such a node does not vouch. The node of rank 0 is always waited for, since
// the others ask its worker. If that is the node that is lost, and all others have ended well, the
// ranks are dead once all of these have stopped vouching together.
#ifndef HPC_COORDINATOR_CORE_POLICY_FENCE_H_
#define HPC_COORDINATOR_CORE_POLICY_FENCE_H_

#include <algorithm>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/state/attempt.h"
#include "coordinator/core/values/cluster_options.h"

namespace hpc::coordinator {

// The times are in proportion to the lease, so that all is over when the lease is: doubt_after +
// vouch + kill <= lease, and contact + kill <= lease. But the time that killing takes does not
// shrink with the lease. So with a lease of less than three seconds, fencing takes longer than the
// lease.
struct FenceTimes {
  explicit FenceTimes(absl::Duration lease)
      : contact(lease * 5 / 6),
        vouch(lease / 3),
        doubt_after(lease / 2),
        promise(lease / 2),
        kill(std::max(lease / 6, absl::Milliseconds(500))) {}

  absl::Duration contact, vouch;
  absl::Duration doubt_after;  // the others are asked not to vouch after this silence of a node
  absl::Duration promise;      // they are asked for this long, and again while the silence lasts
  absl::Duration kill;         // a supervisor and the kernel may need this after a deadline
};

// How long after it was last heard a node may still have ranks of such a run if no other node
// proves that they are dead. Its worker, or the supervisor if there is no worker, begins to end
// them after stop_after_disconnect; then they have their grace.
absl::Duration LongestAlone(const ClusterOptions& options, const RunRequest& request);

// Notes that a node promises, at `now` at the latest, not to vouch before `until`. A promise that
// follows an earlier one without a gap prolongs it.
void TakePromise(MonoTime now, MonoTime until, Member* member);

// Whether the member's node has returned it after all of its ranks had exited 0 by themselves.
bool EndedWell(const Attempt& attempt, const Member& member);

struct Fenced {
  MonoTime at = MonoTime::Infinite();  // Infinite: nobody has promised enough
  std::string by;                      // the node that does not vouch, or one of several
};

// When the ranks of `lost` are dead. Its node was last heard at `heard`.
Fenced DeadBy(const FenceTimes& times, const Attempt& attempt, const Member& lost, MonoTime heard);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_FENCE_H_
