// Whether the nodes of an attempt find the same checkpoints. Each node has its own folder of a run,
// so what a program saves on rank 0 alone is found on that rank's node alone.
#ifndef HPC_COORDINATOR_CORE_GANGS_CHECKPOINT_FOLDERS_H_
#define HPC_COORDINATOR_CORE_GANGS_CHECKPOINT_FOLDERS_H_

#include <string>
#include <vector>

namespace hpc::coordinator {

struct CheckpointFolder {
  std::string node;
  std::vector<std::string> names;  // of what is in it
};

// Says which name is on some of the nodes only, and what that may lead to; "" if there is none.
// Names are in order, so the first such name is right even if lists were cut at their ends.
std::string DifferenceInWords(const std::vector<CheckpointFolder>& folders);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_CHECKPOINT_FOLDERS_H_
