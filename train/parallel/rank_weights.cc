#include "train/parallel/rank_weights.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace hpc::train {

void RankWeights::Begin(Communicator& group, double mine, const std::string& name) {
  mine_ = mine;
  all_ = at::zeros({group.size()}, at::kDouble);
  all_.data_ptr<double>()[group.rank()] = mine;
  pending_ = group.AllReduce(all_, ReduceOp::kSum, {name, {}});
}

void RankWeights::Wait() {
  const PendingPtr pending = std::move(pending_);
  pending->Wait();
  const auto* begin = all_.const_data_ptr<double>();
  const double* const end = begin + all_.numel();
  const double sum = std::accumulate(begin, end, 0.0);
  if (sum <= 0) throw std::invalid_argument("all ranks have weight 0: nobody has a batch");
  if (!std::isfinite(sum)) {
    throw std::invalid_argument("the ranks' weights are too large: their sum is infinite");
  }
  share_ = mine_ / sum;
  first_ = static_cast<int>(std::find_if(begin, end, [](double w) { return w > 0; }) - begin);
}

}  // namespace hpc::train
