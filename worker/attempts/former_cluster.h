// A worker's state directory holds files of a cluster that its PC has left for another one. The
// runs of both clusters have the same numbers.
#ifndef HPC_WORKER_ATTEMPTS_FORMER_CLUSTER_H_
#define HPC_WORKER_ATTEMPTS_FORMER_CLUSTER_H_

#include <string>

#include "absl/status/statusor.h"

namespace hpc::worker {

// Gives up the attempts of `cluster`: the next worker does not find their folders, and ends what
// still runs of them. Sets the folders of its runs aside, with their checkpoints, and returns where
// they are now; "": there are none. The caller holds the lock of the state directory. Errors are
// those of ErrnoStatus.
absl::StatusOr<std::string> SetAsideFormerCluster(const std::string& state_dir,
                                                  const std::string& cluster);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_FORMER_CLUSTER_H_
