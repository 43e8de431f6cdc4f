// Which samples each rank trains on, step by step. Pure.
#ifndef HPC_TRAIN_DATA_DISTRIBUTED_SAMPLER_H_
#define HPC_TRAIN_DATA_DISTRIBUTED_SAMPLER_H_

#include <cstdint>
#include <vector>

namespace hpc::train {

// Splits a batch over ranks by their weights, to the last sample: {10, {1, 1, 2}} -> {3, 2, 5}.
// Differs by less than one sample from the exact share. Throws std::invalid_argument unless
// weights are finite, none is negative, and one is more than 0.
std::vector<int64_t> SplitBatch(int64_t batch, const std::vector<double>& weights);

struct SamplerOptions {
  int64_t batch = 32;  // of all ranks together
  uint64_t seed = 0;
  bool shuffle = true;
  std::vector<double> weights;  // of ranks; empty: all the same
};

// The samples of an epoch are put in an order that only `seed` and the epoch decide, not the number
// of ranks; each step takes the next `batch` of them, and each rank its part of those. So in every
// epoch each sample is used just once over all ranks, and N ranks use, step by step, what one rank
// alone would. The last step may be short: then the ranks' parts are too, and may be none.
//
// An epoch can be begun in the middle, after any number of samples, as after a restart with another
// number of ranks.
class DistributedSampler {
 public:
  // Throws std::invalid_argument: no samples, no batch, no such rank, weights as above.
  DistributedSampler(int64_t samples, int rank, int ranks, const SamplerOptions& options);

  // Puts the samples in the order of `epoch` and leaves out the first `done`. Takes 8 bytes a
  // sample, and a few ns.
  void BeginEpoch(int64_t epoch, int64_t done = 0);

  int64_t steps() const;  // in the rest of the epoch; the same on all ranks
  // Of this rank in a step from 0, in the order of the epoch.
  std::vector<int64_t> Indices(int64_t step) const;
  // Of all ranks together.
  int64_t SamplesOfAll(int64_t step) const;

 private:
  struct Part {
    int64_t begin, end;  // in order_
  };
  Part PartOf(int64_t step) const;

  const int rank_;
  const SamplerOptions options_;
  std::vector<int64_t> ends_;  // of the ranks' parts of a whole batch
  std::vector<int64_t> order_;
  int64_t done_ = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_DISTRIBUTED_SAMPLER_H_
