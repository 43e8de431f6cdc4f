// What a model is judged by after each epoch.
#ifndef HPC_TRAIN_PROGRAM_EVALUATION_H_
#define HPC_TRAIN_PROGRAM_EVALUATION_H_

#include <map>
#include <memory>
#include <string>

#include "train/group/communicator.h"
#include "train/parallel/precision.h"
#include "train/program/task.h"

namespace hpc::train {

struct EvaluationOptions {
  int64_t batch = 128;  // of all ranks together
  int workers = 1;      // that load
  Precision precision = Precision::kFp32;
  at::Device device = at::kCPU;  // the model's
};

// "loss" and what the task judges by, as means over `data`. A collective: each rank has an equal
// part of the data, and only those that had any know the result; rank 0 always does. The model is
// in training mode afterwards.
std::map<std::string, double> Evaluate(const std::shared_ptr<const DataSet>& data, Task* task,
                                       Model* model, Communicator& group,
                                       const EvaluationOptions& options);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_EVALUATION_H_
