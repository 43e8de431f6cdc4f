// A model and data tried together before training.
#ifndef HPC_TRAIN_PROGRAM_TRIAL_H_
#define HPC_TRAIN_PROGRAM_TRIAL_H_

#include <string>

#include "train/parallel/precision.h"
#include "train/program/task.h"

namespace hpc::train {

struct Trial {
  std::string model;    // what errors call it
  int64_t samples = 1;  // of a step: tried where one alone does not go
  Precision precision = Precision::kFp32;
  at::Device device = at::kCPU;
};

// A forward pass in eval mode, without gradients. It leaves nothing behind but torch's random
// numbers, where the model draws any. Throws std::runtime_error, one line: the model does not take
// the data, what it gives is not what the task needs, or the task has no loss for it.
void TryModel(const Trial& trial, const DataSet& data, Task* task, Model* model);

// The same in training mode, of the last step of an epoch where that has `samples` for this rank:
// what a model does not take would else be met when an epoch is lost. Throws as above. Buffers are
// as before then.
void TryLastStep(const Trial& trial, int64_t samples, const DataSet& data, Task* task,
                 Model* model);

// Throws std::runtime_error unless it is one number, as a task's Loss has to return.
void CheckLoss(const at::Tensor& loss);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRIAL_H_
