// What hpc-train can train: a model, data, and what is to become small. One of your own:
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

// Made, and called, on one thread, after the ranks have found each other and torch's random numbers
// were seeded alike. What it throws ends the training on all ranks, with its words.
class Task {
 public:
  virtual ~Task() = default;

  virtual std::shared_ptr<const DataSet> TrainingData() = 0;
  // What the model is judged by after each epoch. None: it is not.
  virtual std::shared_ptr<const DataSet> TestData() { return nullptr; }

  // Its parameters may differ from rank to rank: all get rank 0's.
  virtual std::unique_ptr<Model> MakeModel() = 0;

  // What makes another model of the same parameters, as {"heads", "4"}: a checkpoint with another
  // is not gone on from.
  virtual std::map<std::string, std::string> ModelTraits() { return {}; }

  // What the model gets of a batch, on the device.
  virtual at::Tensor Input(const Batch& batch) { return batch[0]; }
  // Before training, of one sample or a few: throws std::runtime_error, one line, where `output`
  // has not what the data need. Matters for models that a file says (--model).
  virtual void CheckOutput(const at::Tensor&, const Batch&) {}
  // Mean over the samples of the batch; as float, also where the model computes in less.
  virtual at::Tensor Loss(const at::Tensor& output, const Batch& batch) = 0;
  // Sums over the samples of the batch, by name, beside the loss: {"accuracy": how many are right}.
  virtual std::map<std::string, double> Judge(const at::Tensor&, const Batch&) { return {}; }
};

struct TaskEntry {
  std::string name, help;
  std::function<std::unique_ptr<Task>(const TrainOptions&)> make;
  std::function<void(TrainOptions*)> set_defaults = [](TrainOptions*) {};
  // Before any work, and before ranks have found each other. Throws UsageError: what is wrong on
  // every rank, whatever its data, as an option that is missing.
  std::function<void(const TrainOptions&)> check = [](const TrainOptions&) {};
  // Options that do nothing for it: its --help leaves them out, and who says them is told so.
  std::set<std::string> unused = {};
};

// Those that hpc-train comes with.
TaskEntry DigitsTask();
TaskEntry ResnetTask(int layers);  // 18 or 50
TaskEntry CharlmTask();

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TASK_H_
