#include "train/program/evaluation.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <vector>

#include "train/data/prefetching_loader.h"

namespace hpc::train {
namespace {

using Sums = std::map<std::string, double>;

// Returns the sums over the samples of this rank; empty where it has none.
Sums SumsOfThisRank(const std::shared_ptr<const DataSet>& data, Task* task, Model* model,
                    const Communicator& group, const EvaluationOptions& options) {
  // The parts are equal, whatever the shares are. Rank 0 must have one, since it reports the
  // result. So no more ranks take part than there are samples, and in each step but the last every
  // rank has a sample.
  const int ranks = static_cast<int>(std::min<int64_t>(group.size(), data->size()));
  if (group.rank() >= ranks) return {};
  DistributedSampler sampler(data->size(), group.rank(), ranks,
                             {.batch = std::max<int64_t>(options.batch, ranks), .shuffle = false});
  PrefetchingLoader loader(
      data, sampler,
      {.prefetch = {.workers = options.workers}, .pinned = options.device.is_cuda()});
  Sums sums;
  while (auto loaded = loader.Next()) {
    if (loaded->samples == 0) continue;
    const Batch batch = OnDevice(std::move(loaded->batch), options.device);
    const Autocast autocast(options.precision, options.device.type());
    const at::Tensor output = model->Forward(task->Input(batch));
    sums["loss"] += task->Loss(output, batch).item<double>() * static_cast<double>(loaded->samples);
    for (const auto& [name, sum] : task->Judge(output, batch)) sums[name] += sum;
  }
  return sums;
}

// A rank that had no samples does not know how many sums there are, so the ranks agree on that
// first.
void SumOverRanks(Communicator& group, Sums* sums) {
  std::vector<double> values;
  for (const auto& [name, sum] : *sums) values.push_back(sum);
  at::Tensor count = at::full({1}, static_cast<int64_t>(values.size()), at::kLong);
  group.AllReduce(count, ReduceOp::kMax, {"measures of the test", {}})->Wait();
  values.resize(count.item<int64_t>());
  at::Tensor all = at::tensor(values, at::kDouble);
  group.AllReduce(all, ReduceOp::kSum, {"sums of the test", {}})->Wait();
  int64_t i = 0;
  for (auto& [name, sum] : *sums) sum = all[i++].item<double>();
}

}  // namespace

std::map<std::string, double> Evaluate(const std::shared_ptr<const DataSet>& data, Task* task,
                                       Model* model, Communicator& group,
                                       const EvaluationOptions& options) {
  const at::NoGradGuard no_grad;
  model->SetTraining(false);
  Sums sums = SumsOfThisRank(data, task, model, group, options);
  model->SetTraining(true);
  SumOverRanks(group, &sums);
  for (auto& [name, sum] : sums) sum /= static_cast<double>(data->size());
  return sums;
}

}  // namespace hpc::train
