#include "train/data/prefetching_loader.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::train {
namespace {

struct Planned {
  std::vector<int64_t> indices;
  int64_t samples_of_all;
};

std::function<LoadedBatch(int64_t)> Maker(std::shared_ptr<const DataSet> data,
                                          const DistributedSampler& sampler, bool pinned) {
  auto plan = std::make_shared<std::vector<Planned>>();
  for (int64_t step = 0; step < sampler.steps(); ++step) {
    plan->push_back({sampler.Indices(step), sampler.SamplesOfAll(step)});
  }
  return [data = std::move(data), plan, pinned](int64_t step) {
    const Planned& planned = (*plan)[step];
    LoadedBatch loaded = {.samples = static_cast<int64_t>(planned.indices.size()),
                          .samples_of_all = planned.samples_of_all};
    if (loaded.samples == 0) return loaded;
    loaded.batch = data->Get(planned.indices);
    if (pinned) {
      for (at::Tensor& tensor : loaded.batch) tensor = tensor.pin_memory();
    }
    return loaded;
  };
}

}  // namespace

PrefetchingLoader::PrefetchingLoader(std::shared_ptr<const DataSet> data,
                                     const DistributedSampler& sampler,
                                     const LoaderOptions& options)
    : prefetcher_(sampler.steps(), Maker(std::move(data), sampler, options.pinned),
                  options.prefetch) {}

std::optional<std::string> DataBottleneck(double share, double seconds, int workers) {
  constexpr double kLongEnough = 5;
  if (!(share >= 0.1) || seconds < kLongEnough) return std::nullopt;
  return absl::StrCat(
      "waiting for data took ", std::lround(share * 100),
      " % of the time: data is what makes this slow. More than ", Count(workers, "worker thread"),
      " (--workers), a local disk in place of a network's, or files that need less work may help");
}

}  // namespace hpc::train
