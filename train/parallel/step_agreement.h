// Exchanges what all ranks must know alike at the end of a step, in one small message beside the
// backward pass.
#ifndef HPC_TRAIN_PARALLEL_STEP_AGREEMENT_H_
#define HPC_TRAIN_PARALLEL_STEP_AGREEMENT_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>

#include "train/group/communicator.h"

namespace hpc::train {

// Must be used from one thread. Begin and End must be called in turn, on all ranks at the same
// place of a step.
class StepAgreement {
 public:
  struct Outcome {
    bool stop = false;               // a rank was asked to stop
    std::optional<int> bad_loss_of;  // the last rank whose loss is NaN or infinite
  };

  explicit StepAgreement(std::shared_ptr<Communicator> group);

  // Sends what this rank has to say, in 8 bytes.
  void Begin(bool stop, bool bad_loss);
  // Returns the result for all ranks, the same on each. Throws CollectiveError.
  Outcome End();

 private:
  const std::shared_ptr<Communicator> group_;
  at::Tensor message_;
  PendingPtr pending_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PARALLEL_STEP_AGREEMENT_H_
