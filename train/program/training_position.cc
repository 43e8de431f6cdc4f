#include "train/program/training_position.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "train/checkpoint_manifest.h"

namespace hpc::train {
namespace {

int64_t WholeNumberOf(int64_t step, const CheckpointValues& values, const std::string& key,
                      double least) {
  constexpr double kMost = 1e15;
  const double number = NumberOf(step, values, key);
  if (number >= least && number <= kMost) return std::llround(number);
  throw CheckpointError(
      absl::StrCat("the checkpoint of step ", step, " is damaged: its '", key, "' is ", number));
}

}  // namespace

CheckpointValues ValuesOf(const TrainingPosition& position, int64_t epoch_samples) {
  const bool epoch_is_done = position.done >= epoch_samples;
  return {{"epoch", absl::StrCat(epoch_is_done ? position.epoch + 1 : position.epoch)},
          {"done", absl::StrCat(epoch_is_done ? 0 : position.done)},
          {"samples", absl::StrCat(position.samples)},
          {"skipped", absl::StrCat(position.skipped)}};
}

TrainingPosition PositionOf(int64_t step, const CheckpointValues& values, int64_t epoch_samples) {
  TrainingPosition position = {.steps = step,
                               .epoch = WholeNumberOf(step, values, "epoch", 1),
                               .done = WholeNumberOf(step, values, "done", 0),
                               .samples = WholeNumberOf(step, values, "samples", 0),
                               .skipped = WholeNumberOf(step, values, "skipped", 0)};
  if (position.done > epoch_samples) {
    throw CheckpointError(absl::StrCat("the checkpoint of step ", step, " is of ", position.done,
                                       " samples into an epoch, but there are ", epoch_samples));
  }
  if (position.done == epoch_samples) {
    ++position.epoch;
    position.done = 0;
  }
  return position;
}

double NumberOf(int64_t step, const CheckpointValues& values, const std::string& key) {
  const auto found = values.find(key);
  double number = 0;
  if (found != values.end() && absl::SimpleAtod(found->second, &number)) return number;
  throw CheckpointError(absl::StrCat("the checkpoint of step ", step, " does not say '", key,
                                     "': it is of another program"));
}

}  // namespace hpc::train
