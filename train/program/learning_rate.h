// Decides how large steps are. Pure.
#ifndef HPC_TRAIN_PROGRAM_LEARNING_RATE_H_
#define HPC_TRAIN_PROGRAM_LEARNING_RATE_H_

#include <cstdint>

#include "train/program/options/train_options.h"

namespace hpc::train {

// Returns the learning rate of step `step`, counted from 0, of `steps` in all. It grows evenly to
// --lr over --warmup steps. Then it stays there, or with --schedule cosine falls to a tenth of it
// by the last step.
double LearningRate(const TrainOptions& options, int64_t step, int64_t steps);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_LEARNING_RATE_H_
