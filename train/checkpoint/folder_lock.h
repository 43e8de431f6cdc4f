// Keeps two trainings from writing their checkpoints into one folder. Needs no LibTorch.
#ifndef HPC_TRAIN_CHECKPOINT_FOLDER_LOCK_H_
#define HPC_TRAIN_CHECKPOINT_FOLDER_LOCK_H_

#include <string>

#include "common/unique_fd.h"

namespace hpc::train {

// Whoever writes into a folder. It is the same for all ranks of a training.
struct FolderUser {
  std::string start;  // one word that no other start of ranks has; not empty
  std::string run;    // the launcher's name for the run, the same for all attempts; may be empty
  int restarts = 0;   // how many attempts came before this one
};

// Holds the lock while it lives. The kernel releases it when the process ends. The lock is on the
// file ".lock" of the folder, which stays there and says who holds it.
class FolderLock {
 public:
  // Throws CheckpointError that names the process which writes there, with two exceptions. One is a
  // rank of `user`'s own start: it may hang and have been left out. The other is a rank of an
  // earlier attempt of the same run: it has ended or is on a PC that is lost, and a network disk
  // may take a minute to notice that.
  FolderLock(const std::string& folder, const FolderUser& user);

  // If not empty, says why the folder cannot be locked. Another training there is not noticed then.
  const std::string& warning() const { return warning_; }

 private:
  UniqueFd file_;
  std::string warning_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_FOLDER_LOCK_H_
