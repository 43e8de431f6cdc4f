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

// Who has the PC. It decides nothing about attempts: the agent stops them, and says when the last
// one is gone.
class Yield {
 public:
  // How much time the kernel may need after SIGKILL. A PC that is not free after that is worth a
  // warning.
  static constexpr absl::Duration kSlack = absl::Seconds(2);

  // `saved` is what the last worker process left; its time may have run out meanwhile.
  Yield(Now now, const OwnerState& saved);

  // The PC belongs to its owner from now on. Asking again changes the time limit and the reason.
  void Reclaim(Now now, const YieldRequest& request);
  void Lend(Now now, YieldTrigger trigger);
  // The coordinator has heard of what was changed on the PC.
  void MarkSent() { state_.unsent = false; }

  // Nothing runs for the cluster any more. If the PC was being returned, returns how long that
  // took.
  std::optional<absl::Duration> OnPcFree(Now now);

  enum class Due { kNothing, kTimeUp, kOverdue };
  // kTimeUp: the time limit is reached, and the PC is lent again. kOverdue, once per yield: the PC
  // should be free by now and is not.
  Due Tick(Now now);
  MonoTime NextDeadline() const;

  const OwnerState& state() const { return state_; }
  bool reclaimed() const { return state_.reclaimed; }
  bool yielding() const { return began_.has_value(); }
  // Unset: until the PC is lent, or it is not reclaimed.
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
