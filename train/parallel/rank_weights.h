// The weight of each rank in a mean, known to all ranks.
#ifndef HPC_TRAIN_PARALLEL_RANK_WEIGHTS_H_
#define HPC_TRAIN_PARALLEL_RANK_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "train/group/communicator.h"

namespace hpc::train {

// Must be used from one thread. Begin and Wait must be called in turn, alike on all ranks. They
// throw CollectiveError.
class RankWeights {
 public:
  // Sends this rank's weight, which must be finite and not negative. It takes 8 bytes for each
  // rank.
  void Begin(Communicator& group, double mine, const std::string& name);
  bool begun() const { return pending_ != nullptr; }  // and not waited for yet
  // Throws std::invalid_argument if the sum of all weights is 0 or infinite.
  void Wait();

  // The results of the last Wait. Before the first one they are 1 and rank 0.
  double share() const { return share_; }  // this rank's, from 0 to 1
  int first() const { return first_; }     // the first rank whose weight is more than 0

 private:
  double mine_ = 1;
  at::Tensor all_;
  PendingPtr pending_;
  double share_ = 1;
  int first_ = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_RANK_WEIGHTS_H_
