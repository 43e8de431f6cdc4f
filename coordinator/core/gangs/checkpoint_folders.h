// Whether the nodes of an attempt find the same checkpoints. Each node has its own folder of a run,
// so what a program saves on rank 0 alone is found on that rank's node alone.
#ifndef HPC_COORDINATOR_CORE_GANGS_CHECKPOINT_FOLDERS_H_
#define HPC_COORDINATOR_CORE_GANGS_CHECKPOINT_FOLDERS_H_

#include <string>
#include <vector>

#include "protocol/prepare.h"

namespace hpc::coordinator {

struct CheckpointFolder {
  std::string node;
  std::vector<protocol::FoundCheckpoint> found;
};

// Says what is on some of the nodes only, or else what one has from an earlier save than another,
// and what that may lead to; "" if there is no such thing. A node that was away for an attempt has
// an older file of the same name, for example last.ckpt. Names are in order, so the first name that
// some lack is right even if lists were cut at their ends.
std::string DifferenceInWords(const std::vector<CheckpointFolder>& folders);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_CHECKPOINT_FOLDERS_H_
