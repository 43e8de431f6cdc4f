// What the end of an attempt means for its run: over, or tried again, and which budget pays.
#ifndef HPC_COORDINATOR_CORE_POLICY_VERDICT_H_
#define HPC_COORDINATOR_CORE_POLICY_VERDICT_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/model.h"

namespace hpc::coordinator {

// An attempt that has ended.
struct Ending {
  AttemptOutcome outcome = AttemptOutcome::kNone;
  std::string reason;           // in words
  int32_t exit_code = 0;        // of the first failure, or of a refusal
  bool free_of_charge = false;  // a restart of the coordinator ended it
  absl::Duration ran_for;       // since all its ranks were started; zero if they never were
};

struct Verdict {
  RunState state = RunState::kQueued;  // kQueued: try again
  std::string reason;                  // in words, for the run and its event
  int32_t exit_code = 0;
  int32_t failures = 0;  // of the run from now on
  int32_t losses = 0;
  int32_t retries = 0;
  absl::Duration delay;  // before it is tried again
};

// An attempt that ran this long ends a row of losses, and one of restarts that the program asked
// for: a training of weeks is not ended by a dozen reboots, nor delayed by what was hours ago.
constexpr absl::Duration kRowEndsAfter = absl::Minutes(1);

// The longest delay, in ClusterOptions::restart_backoff.
constexpr int64_t kLongestBackOff = 60;

Verdict Judge(const RunRecord& run, const Ending& ending, const ClusterOptions& options);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_VERDICT_H_
