// The batches of a rank, made ahead of the steps that use them.
#ifndef HPC_TRAIN_DATA_PREFETCHING_LOADER_H_
#define HPC_TRAIN_DATA_PREFETCHING_LOADER_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "train/data/data_set.h"
#include "train/data/distributed_sampler.h"
#include "train/data/prefetcher.h"

namespace hpc::train {

struct LoaderOptions {
  PrefetchOptions prefetch;
  // Batches lie in memory from which a GPU copies by itself: where they are to go to one.
  bool pinned = false;
};

struct LoadedBatch {
  Batch batch;  // none where this rank has no samples in this step
  int64_t samples = 0;
  int64_t samples_of_all = 0;  // of all ranks
};

// The batches of the sampler's epoch, from where it was begun. Used from one thread; a new one for
// each epoch.
class PrefetchingLoader {
 public:
  // The sampler is asked now, and not needed later.
  PrefetchingLoader(std::shared_ptr<const DataSet> data, const DistributedSampler& sampler,
                    const LoaderOptions& options);

  // The next step's; none after the last. Throws what DataSet::Get throws.
  std::optional<LoadedBatch> Next() { return prefetcher_.Next(); }

  // How long Next has taken, all calls together: the time that training waited for data.
  std::chrono::nanoseconds waited() const { return prefetcher_.waited(); }

 private:
  Prefetcher<LoadedBatch> prefetcher_;
};

// Where `share` of a training's `seconds`, of 0 to 1, went into waiting for data: if that is what
// makes it slow (a tenth or more), one line that says so and what may help. Not of a training of a
// few seconds, which its first batches decide.
std::optional<std::string> DataBottleneck(double share, double seconds, int workers);

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_PREFETCHING_LOADER_H_
