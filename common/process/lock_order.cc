#include "common/process/lock_order.h"

#include "absl/synchronization/mutex.h"

namespace hpc {

void TrustLockOrder() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

}  // namespace hpc
