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
  // Puts batches into pinned memory, from which a GPU copies by itself. It is for batches that go
  // to a GPU.
  bool pinned = false;
};

struct LoadedBatch {
  Batch batch;  // none where this rank has no samples in this step
  int64_t samples = 0;
  int64_t samples_of_all = 0;  // how many samples all ranks have
};

// Makes the batches of the sampler's epoch, from where it was begun. It must be used from one
// thread, and is made anew for each epoch.
class PrefetchingLoader {
 public:
  // The sampler is only asked in the constructor, and not needed later.
  PrefetchingLoader(std::shared_ptr<const DataSet> data, const DistributedSampler& sampler,
                    const LoaderOptions& options);

  // Returns the next step's batch; none after the last. Throws what DataSet::Get throws.
  std::optional<LoadedBatch> Next() { return prefetcher_.Next(); }

  // Returns how long all calls of Next together have taken: the time that training waited for data.
  std::chrono::nanoseconds waited() const { return prefetcher_.waited(); }

 private:
  Prefetcher<LoadedBatch> prefetcher_;
};

// Says in one line if waiting for data makes a training slow, and what may help. `share`, from 0 to
// 1, is the part of its `seconds` that it waited; a tenth or more is slow. Returns nothing for a
// training of a few seconds, where the first batches decide.
std::optional<std::string> DataBottleneck(double share, double seconds, int workers);

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_PREFETCHING_LOADER_H_
