#include "train/group/lone_communicator.h"

#include <ATen/core/grad_mode.h>

#include "train/tensors/tensor_check.h"

namespace hpc::train {
namespace {

class DonePending : public Pending {
 public:
  void Wait() override {}
};

}  // namespace

PendingPtr LoneCommunicator::AllReduce(at::Tensor tensor, ReduceOp, Options options) {
  const std::string what = "all_reduce '" + options.name + "'";
  CheckTensor(tensor, what);
  CheckSummable(tensor, what);
  return Done(options);
}

PendingPtr LoneCommunicator::ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp,
                                           Options options) {
  const std::string what = "reduce_scatter '" + options.name + "'";
  CheckParts(input, output, 1, what);
  CheckSummable(input, what);
  at::NoGradGuard no_grad;
  output.view(-1).copy_(input.view(-1));
  return Done(options);
}

PendingPtr LoneCommunicator::AllGather(at::Tensor output, at::Tensor input, Options options) {
  CheckParts(output, input, 1, "all_gather '" + options.name + "'");
  at::NoGradGuard no_grad;
  output.view(-1).copy_(input.view(-1));
  return Done(options);
}

PendingPtr LoneCommunicator::AllToAll(at::Tensor output, std::vector<int64_t> output_counts,
                                      at::Tensor input, std::vector<int64_t> input_counts,
                                      Options options) {
  const std::string what = "all_to_all '" + options.name + "'";
  CheckBytes(output, output_counts, 1, what);
  CheckBytes(input, input_counts, 1, what);
  CheckParts(output, input, 1, what);
  output.view(-1).copy_(input.view(-1));
  return Done(options);
}

PendingPtr LoneCommunicator::Broadcast(at::Tensor tensor, int root, Options options) {
  CheckTensor(tensor, "broadcast '" + options.name + "'");
  CheckRoot(root, 1, "broadcast '" + options.name + "'");
  return Done(options);
}

PendingPtr LoneCommunicator::Barrier(Options options) { return Done(options); }

void LoneCommunicator::Abort(const std::string& reason) {
  std::lock_guard lock(mutex_);
  if (!aborted_) aborted_ = reason;
}

PendingPtr LoneCommunicator::Done(const Options& options) {
  std::lock_guard lock(mutex_);
  if (aborted_) throw CollectiveError({}, "'" + options.name + "': aborted: " + *aborted_);
  return std::make_unique<DonePending>();
}

}  // namespace hpc::train
