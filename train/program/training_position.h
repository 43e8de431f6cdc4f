// Tells how far a training has come, and what its checkpoints say about that. Pure.
#ifndef HPC_TRAIN_PROGRAM_TRAINING_POSITION_H_
#define HPC_TRAIN_PROGRAM_TRAINING_POSITION_H_

#include <cstdint>
#include <map>
#include <string>

namespace hpc::train {

struct TrainingPosition {
  int64_t steps = 0;
  int64_t epoch = 1;    // the current epoch
  int64_t done = 0;     // how many samples of that epoch were used
  int64_t samples = 0;  // how many all ranks used since the beginning
  int64_t skipped = 0;  // how many steps were left out
};

using CheckpointValues = std::map<std::string, std::string>;

// Returns all but the step, which names the checkpoint. After the last of `epoch_samples` the
// position is at the beginning of the next epoch.
CheckpointValues ValuesOf(const TrainingPosition& position, int64_t epoch_samples);

// Reads `values` of the checkpoint of `step`. An epoch has `epoch_samples` now. Throws
// CheckpointError: a value is missing, is not a possible number, or counts more samples than there
// are.
TrainingPosition PositionOf(int64_t step, const CheckpointValues& values, int64_t epoch_samples);

// Returns the number that `values` have for `key`. Throws CheckpointError, as above.
double NumberOf(int64_t step, const CheckpointValues& values, const std::string& key);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRAINING_POSITION_H_
