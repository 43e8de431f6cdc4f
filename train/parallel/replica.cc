#include "train/parallel/replica.h"

#include <ATen/core/grad_mode.h>

#include "absl/strings/str_cat.h"
#include "train/buckets/coalesced.h"
#include "train/group/agreement.h"

namespace hpc::train {
namespace {

void Append(const std::vector<std::string>& more, std::vector<std::string>* lines) {
  lines->insert(lines->end(), more.begin(), more.end());
}

std::string Describe(const DataParallelOptions& options) {
  const ReducerOptions& reducer = options.reducer;
  return absl::StrCat("options first_bucket_bytes=", reducer.first_bucket_bytes,
                      " bucket_bytes=", reducer.bucket_bytes, " weighted=", reducer.weighted,
                      " broadcast_buffers=", options.broadcast_buffers,
                      " compression=", Describe(reducer.compression),
                      " sharded=", options.shard != nullptr);
}

}  // namespace

Replica::Replica(std::vector<NamedTensor> parameters, std::vector<NamedTensor> buffers,
                 std::shared_ptr<Communicator> group, const DataParallelOptions& options)
    : group_(std::move(group)), options_(options) {
  std::vector<NamedTensor> trained, frozen;
  for (NamedTensor& one : EachOnce(std::move(parameters))) {
    (one.tensor.requires_grad() ? trained : frozen).push_back(std::move(one));
  }
  buffers = EachOnce(std::move(buffers));

  std::vector<std::string> lines = DescribeTensors("parameter", trained);
  Append(DescribeTensors("frozen parameter", frozen), &lines);
  Append(DescribeTensors("buffer", buffers), &lines);
  lines.push_back(Describe(options));
  CheckSameOnAllRanks(*group_, lines);

  std::vector<at::Tensor> all;
  for (const auto* some : {&trained, &frozen, &buffers}) {
    for (const NamedTensor& one : *some) all.push_back(one.tensor);
  }
  BroadcastCoalesced(*group_, all, 0, "initial parameters and buffers");
  for (const NamedTensor& one : buffers) buffers_.push_back(one.tensor);
  frozen_ = std::move(frozen);
  reducer_ =
      std::make_unique<GradientReducer>(std::move(trained), group_, options.reducer, options.shard);
}

void Replica::BeforeForward(bool training) {
  if (!training || !at::GradMode::is_enabled() || !reducer_->synchronized()) return;
  CheckStillFrozen();
  reducer_->PrepareForward();
  if (options_.broadcast_buffers) SynchronizeBuffers();
}

// Takes the buffers of the first rank that had a batch. A rank without one has not updated its own.
void Replica::SynchronizeBuffers() {
  BroadcastCoalesced(*group_, buffers_, reducer_->first_with_batch(), "buffers");
}

// A parameter that requires a gradient only now would have each rank's own gradient, and the ranks'
// models would drift apart.
void Replica::CheckStillFrozen() const {
  for (const NamedTensor& one : frozen_) {
    if (!one.tensor.requires_grad()) continue;
    throw std::invalid_argument(absl::StrCat(
        "parameter '", one.name,
        "' requires a gradient now, and did not when it was made data-parallel: its gradient would "
        "not be reduced; make the model data-parallel again behind requires_grad_()"));
  }
}

void Replica::AfterForward(const std::vector<at::Tensor>& outputs) {
  if (at::GradMode::is_enabled()) reducer_->WatchOutputs(outputs);
}

void Replica::SynchronizeGradients() {
  reducer_->PrepareForward();
  if (options_.broadcast_buffers) SynchronizeBuffers();
  reducer_->SynchronizeGradients();
}

}  // namespace hpc::train
