// How far a training came, and what its checkpoints say of it. Pure.
#ifndef HPC_TRAIN_PROGRAM_TRAINING_POSITION_H_
#define HPC_TRAIN_PROGRAM_TRAINING_POSITION_H_

#include <cstdint>
#include <map>
#include <string>

namespace hpc::train {

struct TrainingPosition {
  int64_t steps = 0;
  int64_t epoch = 1;    // that it is in
  int64_t done = 0;     // samples of that epoch that were used
  int64_t samples = 0;  // used since the beginning, of all ranks
  int64_t skipped = 0;  // steps left out
};

using CheckpointValues = std::map<std::string, std::string>;

// All but the step, which names the checkpoint. Behind an epoch's last of `epoch_samples` it is at
// the beginning of the next.
CheckpointValues ValuesOf(const TrainingPosition& position, int64_t epoch_samples);

// What `values` of the checkpoint of `step` say, where an epoch has `epoch_samples` now. Throws
// CheckpointError: something is not said, is no number that can be, or is of more samples.
TrainingPosition PositionOf(int64_t step, const CheckpointValues& values, int64_t epoch_samples);

// The number that `values` have of `key`. Throws CheckpointError, as above.
double NumberOf(int64_t step, const CheckpointValues& values, const std::string& key);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRAINING_POSITION_H_
