// A task that hpc-train can train: a model, data, and a loss. Write one of your own like this:
//
//     #include <torch/torch.h>
//     #include "train/program/train_main.h"
//
//     class MyTask : public hpc::train::Task { ... };
//
//     int main(int argc, char** argv) {
//       return hpc::train::TrainMain(argc, argv, {{"mine", "what it does",
//           [](const hpc::train::TrainOptions& o) { return std::make_unique<MyTask>(o); }}});
//     }
//
// See examples/cpp.
#ifndef HPC_TRAIN_PROGRAM_TASK_H_
#define HPC_TRAIN_PROGRAM_TASK_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "train/data/data_set.h"
#include "train/program/options/train_options.h"
#include "train/tool/model.h"

namespace hpc::train {

// A task is made and called on one thread, after the ranks have found each other and torch's random
// numbers were seeded alike. What it throws ends the training on all ranks, with its words.
class Task {
 public:
  virtual ~Task() = default;

  virtual std::shared_ptr<const DataSet> TrainingData() = 0;
  // Returns what the model is evaluated on after each epoch. None: it is not evaluated.
  virtual std::shared_ptr<const DataSet> TestData() { return nullptr; }

  // Makes the model. Its parameters may differ from rank to rank: all get rank 0's.
  virtual std::unique_ptr<Model> MakeModel() = 0;

  // Returns what makes models with the same parameters different, such as {"heads", "4"}. Training
  // does not go on from a checkpoint with other traits.
  virtual std::map<std::string, std::string> ModelTraits() { return {}; }

  // Returns the model's input from a batch, on the device.
  virtual at::Tensor Input(const Batch& batch) { return batch[0]; }
  // Is called before training, with one sample or a few. Throws std::runtime_error, one line, if
  // `output` does not fit the data. It matters for models from a file (--model).
  virtual void CheckOutput(const at::Tensor&, const Batch&) {}
  // Returns the mean over the samples of the batch, as float even if the model computes in less.
  virtual at::Tensor Loss(const at::Tensor& output, const Batch& batch) = 0;
  // Returns sums over the samples of the batch, by name, beside the loss: {"accuracy": how many are
  // right}.
  virtual std::map<std::string, double> Judge(const at::Tensor&, const Batch&) { return {}; }
};

struct TaskEntry {
  std::string name, help;
  std::function<std::unique_ptr<Task>(const TrainOptions&)> make;
  std::function<void(TrainOptions*)> set_defaults = [](TrainOptions*) {};
  // Is called before any work, and before ranks have found each other. Throws UsageError for
  // mistakes that are the same on every rank, whatever its data, such as a missing option.
  std::function<void(const TrainOptions&)> check = [](const TrainOptions&) {};
  // Options that do nothing for the task. Its --help leaves them out, and a user who sets them is
  // told.
  std::set<std::string> unused = {};
};

// These are the tasks that hpc-train comes with.
TaskEntry DigitsTask();
TaskEntry ResnetTask(int layers);  // 18 or 50
TaskEntry CharlmTask();

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TASK_H_
