// A model and data tried together before training.
#ifndef HPC_TRAIN_PROGRAM_TRIAL_H_
#define HPC_TRAIN_PROGRAM_TRIAL_H_

#include <string>

#include "train/precision.h"
#include "train/program/task.h"

namespace hpc::train {

struct Trial {
  std::string model;         // what errors call it
  int64_t samples = 1;       // of a step: tried where one alone does not go
  int64_t last_samples = 1;  // of an epoch's last step, which may be short
  Precision precision = Precision::kFp32;
  at::Device device = at::kCPU;
};

// A forward pass in eval mode, without gradients, and one in training mode of a last step that is
// short: else an epoch would be lost before that is met. They leave nothing behind but torch's
// random numbers, where the model draws any. Throws std::runtime_error, one line: the model does
// not take the data, what it gives is not what the task needs, or the task has no loss for it.
void TryModel(const Trial& trial, const DataSet& data, Task* task, Model* model);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRIAL_H_
