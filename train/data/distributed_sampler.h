// Decides which samples each rank trains on, step by step. Pure.
#ifndef HPC_TRAIN_DATA_DISTRIBUTED_SAMPLER_H_
#define HPC_TRAIN_DATA_DISTRIBUTED_SAMPLER_H_

#include <cstdint>
#include <vector>

namespace hpc::train {

// Splits a batch over ranks by their weights, to the last sample: {10, {1, 1, 2}} -> {3, 2, 5}.
// Each part differs by less than one sample from the exact share. Throws std::invalid_argument
// unless all weights are finite, none is negative, and one is more than 0.
std::vector<int64_t> SplitBatch(int64_t batch, const std::vector<double>& weights);

struct SamplerOptions {
  int64_t batch = 32;  // samples of all ranks together
  uint64_t seed = 0;
  bool shuffle = true;
  std::vector<double> weights;  // one for each rank; empty: all the same
};

// The samples of an epoch are put in an order. Only `seed` and the epoch decide it, not the number
// of ranks. Each step takes the next `batch` of them, and each rank takes its part of those. So in
// every epoch each sample is used exactly once over all ranks, and N ranks use, step by step, what
// one rank alone would use. The last step may be short; then the ranks' parts are short too, and
// may be empty.
//
// An epoch can be begun in the middle, after any number of samples, as after a restart with another
// number of ranks.
class DistributedSampler {
 public:
  // Throws std::invalid_argument: there are no samples, there is no batch or no such rank, or the
  // weights are not as above.
  DistributedSampler(int64_t samples, int rank, int ranks, const SamplerOptions& options);

  // Puts the samples in the order of `epoch`, and leaves out the first `done`. Takes 8 bytes and a
  // few ns for each sample.
  void BeginEpoch(int64_t epoch, int64_t done = 0);

  int64_t steps() const;  // in the rest of the epoch; the same on all ranks
  // Returns the samples of this rank in a step, counted from 0, in the order of the epoch.
  std::vector<int64_t> Indices(int64_t step) const;
  // Returns the number of samples of all ranks together.
  int64_t SamplesOfAll(int64_t step) const;

 private:
  struct Part {
    int64_t begin, end;  // positions in order_
  };
  Part PartOf(int64_t step) const;

  const int rank_;
  const SamplerOptions options_;
  std::vector<int64_t> ends_;  // the ends of the ranks' parts of a whole batch
  std::vector<int64_t> order_;
  int64_t done_ = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_DISTRIBUTED_SAMPLER_H_
