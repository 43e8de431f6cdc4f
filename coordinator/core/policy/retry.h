// What the end of an attempt means for its run: whether it is over or is tried again, and which
// budget pays.
#ifndef HPC_COORDINATOR_CORE_POLICY_RETRY_H_
#define HPC_COORDINATOR_CORE_POLICY_RETRY_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

// How an attempt has ended.
struct Ending {
  AttemptOutcome outcome = AttemptOutcome::kNone;
  std::string reason;           // in words
  int32_t exit_code = 0;        // the code of the first failure, or of a refusal
  bool free_of_charge = false;  // a restart of the coordinator ended it
  absl::Duration ran_for;       // since all of its ranks were started; zero if they never were
};

// What becomes of the run.
struct RetryDecision {
  RunState state = RunState::kQueued;  // kQueued: try again
  std::string reason;                  // in words, for the run and its event
  int32_t exit_code = 0;
  int32_t failures = 0;  // the run's counters from now on
  int32_t losses = 0;
  int32_t retries = 0;
  absl::Duration delay;  // before it is tried again
};

// An attempt that ran this long ends a row of losses, and also a row of restarts that the program
// asked for. So a dozen reboots do not end a training of weeks, and what happened hours ago does
// not delay it.
constexpr absl::Duration kRowEndsAfter = absl::Minutes(1);

// The longest delay, as a multiple of ClusterOptions::restart_backoff.
constexpr int64_t kLongestBackOff = 60;

RetryDecision DecideRetry(const RunRecord& run, const Ending& ending,
                          const ClusterOptions& options);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_RETRY_H_
