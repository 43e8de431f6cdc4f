#include "coordinator/core/fence.h"

#include <algorithm>

namespace hpc::coordinator {

void TakePromise(MonoTime now, MonoTime until, Member* member) {
  if (now >= member->silent_until) member->silent_since = now;
  member->silent_until = std::max(member->silent_until, until);
}

absl::Duration LongestAlone(const ClusterOptions& options, const RunRequest& request) {
  constexpr absl::Duration kKillTime = absl::Seconds(2);  // what the kernel may need behind SIGKILL
  return options.stop_after_disconnect + request.stop_grace + kKillTime;
}

Fenced DeadBy(const FenceTimes& times, const Attempt& attempt, const Member& lost, MonoTime heard) {
  Fenced fenced;
  if (!attempt.witnessed) return fenced;
  for (const Member& m : attempt.members) {
    if (&m == &lost) continue;
    // From here on both are over at once: contact, and whatever was vouched for.
    const MonoTime over = std::max(m.silent_since + times.vouch, heard + times.contact);
    if (over > m.silent_until || over + times.kill >= fenced.at) continue;
    fenced = {over + times.kill, m.placement.node};
  }
  return fenced;
}

}  // namespace hpc::coordinator
