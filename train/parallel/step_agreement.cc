#include "train/parallel/step_agreement.h"

#include <ATen/Functions.h>

namespace hpc::train {

StepAgreement::StepAgreement(std::shared_ptr<Communicator> group)
    : group_(std::move(group)), message_(at::zeros({2}, at::kInt)) {}

void StepAgreement::Begin(bool stop, bool bad_loss) {
  auto* says = message_.data_ptr<int>();
  says[0] = stop ? 1 : 0;
  says[1] = bad_loss ? group_->rank() + 1 : 0;
  pending_ = group_->AllReduce(message_, ReduceOp::kMax, {"end of step", {}});
}

StepAgreement::Outcome StepAgreement::End() {
  pending_->Wait();
  pending_.reset();
  const auto* said = message_.const_data_ptr<int>();
  Outcome outcome = {.stop = said[0] != 0};
  if (said[1] != 0) outcome.bad_loss_of = said[1] - 1;
  return outcome;
}

}  // namespace hpc::train
