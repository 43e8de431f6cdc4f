#include "train/program/training_position.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/checkpoint/checkpoint_manifest.h"

namespace hpc::train {
namespace {

const std::string& TextOf(int64_t step, const CheckpointValues& values, const std::string& key) {
  const auto found = values.find(key);
  if (found != values.end()) return found->second;
  throw CheckpointError(absl::StrCat("the checkpoint of step ", step, " does not say '", key,
                                     "': it is of another program"));
}

[[noreturn]] void RefuseValue(int64_t step, const std::string& key, const std::string& text) {
  throw CheckpointError(absl::StrCat("the checkpoint of step ", step, " is damaged: its '", key,
                                     "' is ", OneLine(text)));
}

int64_t WholeNumberOf(int64_t step, const CheckpointValues& values, const std::string& key,
                      int64_t least) {
  constexpr int64_t kMost = 1'000'000'000'000'000;
  const std::string& text = TextOf(step, values, key);
  int64_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < least || number > kMost) {
    RefuseValue(step, key, text);
  }
  return number;
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
  const std::string& text = TextOf(step, values, key);
  double number = 0;
  if (!absl::SimpleAtod(text, &number)) RefuseValue(step, key, text);
  return number;
}

}  // namespace hpc::train
