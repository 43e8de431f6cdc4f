// When the ranks of a node that is not heard any more are known to be dead.
//
// Ranks of a witnessed attempt (docs/DESIGN.md) live only as long as their supervisor is told that
// they may: until `contact` after the coordinator last heard their node, or until `vouch` after all
// nodes of the attempt last vouched for one another, whichever is later. So once one of them, any,
// has stopped vouching for long enough, they are dead wherever they are. Who has ended its part
// well is not waited for and stops nothing, but for the node of rank 0, whose worker the others
// ask; where that one is lost and all others have ended well, all of them together do.
#ifndef HPC_COORDINATOR_CORE_POLICY_FENCE_H_
#define HPC_COORDINATOR_CORE_POLICY_FENCE_H_

#include <algorithm>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/state/attempt.h"
#include "coordinator/core/values/cluster_options.h"

namespace hpc::coordinator {

// In proportion to the lease, so that silence is over and done with when the lease is:
// doubt_after + vouch + kill <= lease, and contact + kill <= lease. What killing takes does not
// shrink with it, though: fencing outlasts a lease under three seconds.
struct FenceTimes {
  explicit FenceTimes(absl::Duration lease)
      : contact(lease * 5 / 6),
        vouch(lease / 3),
        doubt_after(lease / 2),
        promise(lease / 2),
        kill(std::max(lease / 6, absl::Milliseconds(500))) {}

  absl::Duration contact, vouch;
  absl::Duration doubt_after;  // silence of a node after which the others are asked not to vouch
  absl::Duration promise;      // for how long they are asked; asked again while it lasts
  absl::Duration kill;         // what a supervisor and the kernel may need behind a deadline
};

// How long after it was last heard a node may still have ranks of such a run, whatever others say:
// its worker, or without it their supervisor, begins to end them after stop_after_disconnect; they
// have their grace then.
absl::Duration LongestAlone(const ClusterOptions& options, const RunRequest& request);

// A node promises at `now` at the latest that it does not vouch before `until`. One that follows
// on an earlier promise without a gap goes on with it.
void TakePromise(MonoTime now, MonoTime until, Member* member);

// Its node has returned it, and all of its ranks had exited 0 by themselves.
bool EndedWell(const Attempt& attempt, const Member& member);

struct Fenced {
  MonoTime at = MonoTime::Infinite();  // Infinite: nobody has promised enough
  std::string by;                      // the node that does not vouch, or one of those
};

// When the ranks of `lost` are dead, whose node was heard at `heard` for the last time.
Fenced DeadBy(const FenceTimes& times, const Attempt& attempt, const Member& lost, MonoTime heard);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_FENCE_H_
