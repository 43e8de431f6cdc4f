// Tries a model and data together before training.
#ifndef HPC_TRAIN_PROGRAM_TRIAL_H_
#define HPC_TRAIN_PROGRAM_TRIAL_H_

#include <string>

#include "train/parallel/precision.h"
#include "train/program/task.h"

namespace hpc::train {

struct Trial {
  std::string model;    // errors call it so
  int64_t samples = 1;  // in a step; used where a single one fails
  Precision precision = Precision::kFp32;
  at::Device device = at::kCPU;
};

// Does a forward pass in eval mode, without gradients. It leaves nothing behind, except that
// torch's random numbers have moved on if the model draws any. Throws std::runtime_error, one line:
// the model does not take the data, its output is not what the task needs, or the task has no loss
// for it.
void TryModel(const Trial& trial, const DataSet& data, Task* task, Model* model);

// Does the same in training mode for the last step of an epoch, in which this rank has `samples`.
// Otherwise a model that cannot take so few would fail when a whole epoch is lost. Throws as above.
// Buffers are restored afterwards.
void TryLastStep(const Trial& trial, int64_t samples, const DataSet& data, Task* task,
                 Model* model);

// Throws std::runtime_error unless `loss` is one number, which a task's Loss must return.
void CheckLoss(const at::Tensor& loss);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRIAL_H_
