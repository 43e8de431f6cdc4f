#include "coordinator/core/policy/fence.h"

#include <algorithm>
#include <string>
#include <vector>

namespace hpc::coordinator {

void TakePromise(MonoTime now, MonoTime until, Member* member) {
  if (now >= member->silent_until) member->silent_since = now;
  member->silent_until = std::max(member->silent_until, until);
}

absl::Duration LongestAlone(const ClusterOptions& options, const RunRequest& request) {
  constexpr absl::Duration kKillTime = absl::Seconds(2);  // the kernel may need it after SIGKILL
  return options.stop_after_disconnect + request.stop_grace + kKillTime;
}

bool EndedWell(const Attempt& attempt, const Member& member) {
  return member.placement.returned && attempt.WorkIsDoneOn(member.placement.node);
}

Fenced DeadBy(const FenceTimes& times, const Attempt& attempt, const Member& lost, MonoTime heard) {
  Fenced fenced;
  if (!attempt.witnessed) return fenced;
  const auto look = [&](MonoTime since, MonoTime until, const std::string& by) {
    // From here on neither contact nor anybody's vouching keeps the ranks alive.
    const MonoTime over = std::max(since + times.vouch, heard + times.contact);
    if (over > until || over + times.kill >= fenced.at) return;
    fenced = {over + times.kill, by};
  };
  // The promise that all members that are not waited for have in common.
  MonoTime since, until = MonoTime::Infinite();
  std::vector<std::string> ended;
  for (const Member& m : attempt.members) {
    if (&m == &lost) continue;
    if (m.placement.node_rank == 0 || !EndedWell(attempt, m)) {
      look(m.silent_since, m.silent_until, m.placement.node);
      continue;
    }
    since = std::max(since, m.silent_since);
    until = std::min(until, m.silent_until);
    ended.push_back(m.placement.node);
  }
  const bool alone = ended.size() + 1 == attempt.members.size();
  if (alone && lost.placement.node_rank == 0) look(since, until, ended.front());
  return fenced;
}

}  // namespace hpc::coordinator
