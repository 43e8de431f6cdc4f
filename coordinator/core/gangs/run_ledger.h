// Takes runs in, queues them, lets them wait for other runs or for the end of their back-off, and
// ends them.
#ifndef HPC_COORDINATOR_CORE_GANGS_RUN_LEDGER_H_
#define HPC_COORDINATOR_CORE_GANGS_RUN_LEDGER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "coordinator/core/policy/retry.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

class RunLedger {
 public:
  RunLedger(State* state, PastRunLookup past_run, void* past_run_context)
      : state_(state), past_run_(past_run), past_run_context_(past_run_context) {}

  // ResourceExhausted: the user already has the greatest permitted number of runs that are not
  // over.
  absl::Status CheckQuota(const std::string& user) const;
  // Takes in a new run. The request must have been checked.
  RunId Submit(Turn& turn, const RunRequest& request);
  // InvalidArgument: no run `after` was ever submitted. FailedPrecondition: it did not succeed.
  absl::Status CheckAfter(RunId after) const;

  // Takes in a run that a restarted coordinator was given and that has no live attempt.
  void Resume(Turn& turn, Run* run);

  // Changes what a run without an attempt asks for, or holds or releases it. `to` must have been
  // checked. Returns ChangeWords().
  std::string Change(Turn& turn, Run* run, const RunRequest& to, const RunChange& change);

  // Does with the run what was decided. Its attempt has ended, and its last rank at
  // `ended_at`.
  void Carry(Turn& turn, Run* run, const RetryDecision& decision, absl::Time ended_at);
  // Ends a run that has no live attempt. If it did not succeed, the runs that wait for its success
  // are ended, too. The run does not exist afterwards.
  void End(Turn& turn, Run* run, RunState state, const std::string& reason, int32_t exit_code);

  // The run's back-off is over.
  void RetryNow(Run* run);

 private:
  struct RunEnd {
    Run* run;
    RunState state;
    std::string reason;
    int32_t exit_code;
    absl::Time ended_at;
  };
  void EndAll(Turn& turn, const RunEnd& first);
  void EndOne(Turn& turn, const RunEnd& ending);
  // Finds the runs that were to come after one that has ended: they are queued, or are to be ended,
  // too.
  void ReleaseWaiting(const Turn& turn, const RunEnd& ending, std::vector<RunEnd>* endings);
  void Hold(Turn& turn, Run* run, const std::string& by);
  void Release(Turn& turn, Run* run, const std::string& by);
  // Queues the run, unless it is on hold.
  void Enqueue(Run* run);
  void BackOff(Run* run, MonoTime until);
  // Queues the run. If it comes after another run, it waits for that instead, or ends if that
  // failed.
  void Line(Turn& turn, Run* run);
  std::optional<RunState> LookUp(RunId run) const { return past_run_(past_run_context_, run); }

  State* state_;
  PastRunLookup past_run_;
  void* past_run_context_;
  absl::flat_hash_map<RunId, std::vector<RunId>> waiting_for_;  // a run -> those that come after it
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_RUN_LEDGER_H_
