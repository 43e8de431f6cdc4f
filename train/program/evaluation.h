// Evaluates a model after each epoch.
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
  int64_t batch = 128;  // samples of all ranks together
  int workers = 1;      // threads that load data
  Precision precision = Precision::kFp32;
  at::Device device = at::kCPU;  // the model's
};

// Returns "loss" and the task's measures, as means over `data`. A collective: each rank has an
// equal part of the data. Only ranks that had any know the result, and rank 0 always does. The
// model is in training mode afterwards.
std::map<std::string, double> Evaluate(const std::shared_ptr<const DataSet>& data, Task* task,
                                       Model* model, Communicator& group,
                                       const EvaluationOptions& options);

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_EVALUATION_H_
