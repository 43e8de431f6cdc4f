#include "train/program/trial.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "train/program/buffer_copy.h"
#include "train/program/error_line.h"
#include "train/tensors/tensor_text.h"

namespace hpc::train {
namespace {

void Pass(const Trial& trial, const DataSet& data, int64_t samples, Task* task, Model* model) {
  std::vector<int64_t> first(samples);
  std::iota(first.begin(), first.end(), 0);
  const Batch batch = OnDevice(data.Get(first), trial.device);
  Autocast autocast(trial.precision, trial.device.type());
  const at::Tensor input = task->Input(batch);
  at::Tensor output;
  try {
    output = model->Forward(input);
  } catch (const std::exception& error) {
    // An error of the model itself begins with the model's name.
    if (IsShortOfMemory(error) || absl::StartsWith(error.what(), trial.model)) throw;
    throw std::runtime_error(absl::StrCat(trial.model, " does not take ", TensorText(input),
                                          " (the data's): ", OneLineOf(error)));
  }
  task->CheckOutput(output, batch);
  at::Tensor loss;
  try {
    loss = task->Loss(output, batch);
  } catch (const std::exception& error) {
    if (IsShortOfMemory(error)) throw;
    throw std::runtime_error(absl::StrCat("there is no loss for ", TensorText(output), ", which ",
                                          trial.model, " gives: ", OneLineOf(error)));
  }
  CheckLoss(loss);
}

}  // namespace

void CheckLoss(const at::Tensor& loss) {
  if (loss.defined() && loss.numel() == 1 && loss.is_floating_point()) return;
  throw std::runtime_error(absl::StrCat("the task's Loss returns ",
                                        loss.defined() ? TensorText(loss) : "no tensor",
                                        ", where one number is needed: the mean over the batch"));
}

void TryModel(const Trial& trial, const DataSet& data, Task* task, Model* model) {
  if (data.size() == 0) return;
  at::NoGradGuard no_grad;
  // Otherwise TorchScript would make its code for what it sees here, instead of for what is trained
  // on.
  torch::jit::GraphOptimizerEnabledGuard as_it_is(false);
  const BufferCopy before(model->Buffers());
  model->SetTraining(false);
  const int64_t samples = std::min(trial.samples, data.size());
  try {
    Pass(trial, data, 1, task, model);
  } catch (const std::exception&) {
    if (samples <= 1) throw;
    const std::exception_ptr alone = std::current_exception();
    try {
      Pass(trial, data, samples, task, model);  // a traced model may take nothing but whole batches
    } catch (const std::exception&) {
      std::rethrow_exception(alone);
    }
  }
  model->SetTraining(true);
  model->EndStep();
  before.Restore();
}

// A last step may be too small: BatchNorm, for example, does not take a single sample of one point.
void TryLastStep(const Trial& trial, int64_t samples, const DataSet& data, Task* task,
                 Model* model) {
  const at::NoGradGuard no_grad;
  const torch::jit::GraphOptimizerEnabledGuard as_it_is(false);
  const BufferCopy before(model->Buffers());
  model->SetTraining(true);
  try {
    Pass(trial, data, std::min(samples, data.size()), task, model);
  } catch (const std::exception& error) {
    if (IsShortOfMemory(error)) throw;
    throw std::runtime_error(absl::StrCat(
        "the last batch of an epoch has ", Count(samples, "sample"),
        " for this rank, which cannot be trained on (another --batch may leave more): ",
        OneLineOf(error)));
  }
  model->EndStep();
  before.Restore();
}

}  // namespace hpc::train
