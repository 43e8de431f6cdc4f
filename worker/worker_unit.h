// The systemd unit that an installed worker runs as.
#ifndef HPC_WORKER_WORKER_UNIT_H_
#define HPC_WORKER_WORKER_UNIT_H_

#include "absl/status/status.h"

namespace hpc::worker {

// Starts the unit, now and whenever the machine boots, and waits until its worker runs. NotFound:
// there is no unit, systemd does not run here, or we are not root. FailedPrecondition: it did not
// start; the error says why.
absl::Status StartWorkerUnit();

}  // namespace hpc::worker

#endif  // HPC_WORKER_WORKER_UNIT_H_
