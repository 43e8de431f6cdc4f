// What a worker's state directory holds of a cluster that its PC leaves for another one, whose runs
// have the same numbers.
#ifndef HPC_WORKER_ATTEMPTS_FORMER_CLUSTER_H_
#define HPC_WORKER_ATTEMPTS_FORMER_CLUSTER_H_

#include <string>

#include "absl/status/statusor.h"

namespace hpc::worker {

// Gives up the attempts of `cluster`: the next worker ends what still runs of them, whose folders
// it does not find. Sets the folders of its runs aside, with their checkpoints, and returns where
// they are now; "": there are none. For who holds the state directory's lock. ErrnoStatus.
absl::StatusOr<std::string> SetAsideFormerCluster(const std::string& state_dir,
                                                  const std::string& cluster);

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_FORMER_CLUSTER_H_
