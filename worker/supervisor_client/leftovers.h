// What may be left of an attempt whose supervisor did not live to end it.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_LEFTOVERS_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_LEFTOVERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

// Looks for what is left of an attempt, and kills that together with the supervisor. Must be called
// before an attempt is called gone, whatever its supervisor said or did not live to say. The
// attempt may have lost its files. `seen`: ranks that the caller saw start. `held`: the cgroup that
// is still held for it, if the caller knows. May take half a second.
//
// OK: nothing is left. If a cgroup or scope held the attempt, its being empty shows that. Otherwise
// the supervisor's journal shows it, since a supervisor waits for all descendants before it writes
// AllGone. If the supervisor was killed before that, the ranks died with it. Their sessions, and
// all that carries their environment, are gone, and nobody can find more.
//
// DeadlineExceeded: something survives SIGKILL, so its device is not returned; ask again.
absl::Status KillLeftovers(const std::string& attempt, const std::string& dir,
                           const std::vector<RankStarted>& seen, const std::string& held = "");

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_LEFTOVERS_H_
