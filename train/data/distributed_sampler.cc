#include "train/data/distributed_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace hpc::train {
namespace {

// Draws a number below `limit`. The standard defines what mt19937_64 draws, but not what its
// distributions make of it. So distributions would differ between PCs with different libraries.
uint64_t Below(uint64_t limit, std::mt19937_64& random) {
  const uint64_t fair = limit * (UINT64_MAX / limit);
  for (;;) {
    const uint64_t drawn = random();
    if (drawn < fair) return drawn % limit;
  }
}

// Mixes a seed, so that seeds which differ by one give streams that have nothing in common
// (splitmix64).
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

std::vector<int64_t> SplitBatch(int64_t batch, const std::vector<double>& weights) {
  double sum = 0;
  for (double weight : weights) {
    if (!std::isfinite(weight) || weight < 0) {
      throw std::invalid_argument(absl::StrCat("a rank's share of the batch is ", weight,
                                               "; it must be a number of 0 or more"));
    }
    sum += weight;
  }
  if (sum <= 0) throw std::invalid_argument("no rank has a share of the batch");
  if (!std::isfinite(sum)) {
    throw std::invalid_argument(
        "the ranks' shares of the batch are too large: their sum is infinite");
  }
  std::vector<int64_t> parts;
  double passed = 0;
  int64_t given = 0;
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    passed += weights[rank];
    const int64_t until = rank + 1 == weights.size()
                              ? batch
                              : std::llround(static_cast<double>(batch) * (passed / sum));
    parts.push_back(until - given);
    given = until;
  }
  return parts;
}

DistributedSampler::DistributedSampler(int64_t samples, int rank, int ranks,
                                       const SamplerOptions& options)
    : rank_(rank), options_(options) {
  if (samples <= 0) throw std::invalid_argument("there are no samples to train on");
  if (options.batch <= 0) {
    throw std::invalid_argument(
        absl::StrCat("the batch is ", options.batch, "; it must be 1 or more"));
  }
  if (rank < 0 || rank >= ranks) {
    throw std::invalid_argument(absl::StrCat("there is no rank ", rank, " of ", ranks));
  }
  if (!options.weights.empty() && options.weights.size() != static_cast<size_t>(ranks)) {
    throw std::invalid_argument(absl::StrCat("there are ", options.weights.size(),
                                             " shares of the batch for ", ranks, " ranks"));
  }
  const std::vector<double> even(ranks, 1);
  ends_ = SplitBatch(options.batch, options.weights.empty() ? even : options.weights);
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  order_.resize(samples);
  BeginEpoch(0);
}

void DistributedSampler::BeginEpoch(int64_t epoch, int64_t done) {
  const auto samples = static_cast<int64_t>(order_.size());
  if (done < 0 || done > samples) {
    throw std::invalid_argument(
        absl::StrCat(done, " samples of this epoch are done, but it has ", samples));
  }
  done_ = done;
  std::iota(order_.begin(), order_.end(), 0);
  if (!options_.shuffle) return;
  std::mt19937_64 random(Mix(Mix(options_.seed) ^ static_cast<uint64_t>(epoch)));
  for (int64_t i = samples - 1; i > 0; --i) {
    std::swap(order_[i], order_[Below(static_cast<uint64_t>(i) + 1, random)]);
  }
}

int64_t DistributedSampler::steps() const {
  const int64_t left = static_cast<int64_t>(order_.size()) - done_;
  return (left + options_.batch - 1) / options_.batch;
}

int64_t DistributedSampler::SamplesOfAll(int64_t step) const {
  const int64_t begin = done_ + step * options_.batch;
  return std::clamp<int64_t>(static_cast<int64_t>(order_.size()) - begin, 0, options_.batch);
}

DistributedSampler::Part DistributedSampler::PartOf(int64_t step) const {
  const int64_t begin = done_ + step * options_.batch;
  const int64_t all = SamplesOfAll(step);
  auto until = [&](int rank) -> int64_t {  // a short batch is divided in the same shares
    const int64_t end = rank < 0 ? 0 : ends_[rank];
    if (all == options_.batch) return end;
    return std::llround(static_cast<double>(end) * static_cast<double>(all) /
                        static_cast<double>(options_.batch));
  };
  return {begin + until(rank_ - 1), begin + until(rank_)};
}

std::vector<int64_t> DistributedSampler::Indices(int64_t step) const {
  const Part part = PartOf(step);
  return {order_.begin() + part.begin, order_.begin() + part.end};
}

}  // namespace hpc::train
