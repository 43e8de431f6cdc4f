// What part each rank has in a mean, known to all of them.
#ifndef HPC_TRAIN_PARALLEL_RANK_WEIGHTS_H_
#define HPC_TRAIN_PARALLEL_RANK_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "train/group/communicator.h"

namespace hpc::train {

// Used from one thread. Begin and Wait are called in turn, on all ranks alike; they throw
// CollectiveError.
class RankWeights {
 public:
  // Sends this rank's, which is finite and not negative; 8 bytes a rank.
  void Begin(Communicator& group, double mine, const std::string& name);
  bool begun() const { return pending_ != nullptr; }  // and not waited for
  // Throws std::invalid_argument where the sum is 0 or infinite.
  void Wait();

  // Of the last that were waited for; before, those of ranks that all have the same.
  double share() const { return share_; }  // this rank's, of 0 to 1
  int first() const { return first_; }     // the first rank that has more than 0

 private:
  double mine_ = 1;
  at::Tensor all_;
  PendingPtr pending_;
  double share_ = 1;
  int first_ = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_RANK_WEIGHTS_H_
