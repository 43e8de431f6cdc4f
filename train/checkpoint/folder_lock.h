// That two trainings do not write their checkpoints into one folder. Needs no LibTorch.
#ifndef HPC_TRAIN_CHECKPOINT_FOLDER_LOCK_H_
#define HPC_TRAIN_CHECKPOINT_FOLDER_LOCK_H_

#include <string>

#include "common/unique_fd.h"

namespace hpc::train {

// Who writes into a folder. All ranks of a training have the same.
struct FolderUser {
  std::string start;  // one word that no other start of ranks has; not empty
  std::string run;    // what the launcher calls the run: its attempts have the same; may be empty
  int restarts = 0;   // attempts before this one
};

// Held until it goes, or its process does: the kernel lets go of it then. It is on the file ".lock"
// of the folder, which stays there, and says who holds it.
class FolderLock {
 public:
  // Throws CheckpointError that names who writes there: neither a rank of `user`'s own start, as
  // one that hangs and was left out is, nor one of an earlier attempt of its run, which is ended,
  // or on a PC that is lost: a disk on the network may take a minute to know.
  FolderLock(const std::string& folder, const FolderUser& user);

  // Not empty: it cannot be locked, and why. Another training there is not noticed then.
  const std::string& warning() const { return warning_; }

 private:
  UniqueFd file_;
  std::string warning_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_FOLDER_LOCK_H_
