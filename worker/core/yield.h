// The owner first: who has the PC, until when, and how long giving it back took.
#ifndef HPC_WORKER_CORE_YIELD_H_
#define HPC_WORKER_CORE_YIELD_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/core/owner_state.h"

namespace hpc::worker {

struct YieldRequest {
  YieldTrigger trigger = YieldTrigger::kCommand;
  std::optional<absl::Duration> duration;  // unset: until lent
  std::string reason;
  absl::Duration grace = absl::Seconds(10);  // from SIGTERM to SIGKILL
};

// Decides nothing about attempts: the agent stops them and says when the last one is gone.
class Yield {
 public:
  // What the kernel may need behind SIGKILL before a PC that is not free yet is worth a warning.
  static constexpr absl::Duration kSlack = absl::Seconds(2);

  // `saved` as the last worker process left it; it may have run out meanwhile.
  Yield(Now now, const OwnerState& saved);

  // The PC is the owner's from now on. Asking again changes the time limit and the reason.
  void Reclaim(Now now, const YieldRequest& request);
  void Lend(Now now, YieldTrigger trigger);
  // The coordinator has heard of what was changed on the PC.
  void MarkSent() { state_.unsent = false; }

  // Nothing runs for the cluster any more. Returns how long that took when a yield was under way.
  std::optional<absl::Duration> OnPcFree(Now now);

  enum class Due { kNothing, kTimeUp, kOverdue };
  // kTimeUp: the time limit is reached, the PC is lent again. kOverdue, once per yield: it should
  // be free by now and is not.
  Due Tick(Now now);
  MonoTime NextDeadline() const;

  const OwnerState& state() const { return state_; }
  bool reclaimed() const { return state_.reclaimed; }
  bool yielding() const { return began_.has_value(); }
  // Unset: until lent, or not reclaimed.
  std::optional<absl::Duration> Left(Now now) const;
  std::optional<absl::Duration> last_return() const { return last_return_; }

 private:
  OwnerState state_;
  MonoTime lend_at_ = MonoTime::Infinite();
  std::optional<MonoTime> began_;
  MonoTime overdue_at_ = MonoTime::Infinite();
  std::optional<absl::Duration> last_return_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_YIELD_H_
