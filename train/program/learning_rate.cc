#include "train/program/learning_rate.h"

#include <algorithm>
#include <cmath>

namespace hpc::train {

double LearningRate(const TrainOptions& options, int64_t step, int64_t steps) {
  if (step < options.warmup) {
    return options.lr * static_cast<double>(step + 1) / static_cast<double>(options.warmup);
  }
  if (options.schedule != "cosine" || steps <= options.warmup) return options.lr;
  const double done =
      static_cast<double>(step - options.warmup) / static_cast<double>(steps - options.warmup);
  return options.lr * (0.1 + 0.45 * (1 + std::cos(M_PI * std::min(1.0, done))));
}

}  // namespace hpc::train
