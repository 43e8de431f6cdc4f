#include "train/program/trainer.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"
#include "train/group/agreement.h"
#include "train/program/error_line.h"
#include "train/program/evaluation.h"
#include "train/program/learning_rate.h"
#include "train/program/options/remembered_options.h"
#include "train/program/options/remembered_traits.h"
#include "train/program/pending_number.h"
#include "train/program/trial.h"
#include "train/tool/standard_output.h"

namespace hpc::train {
namespace {

// The limit for --on-nan skip. A model that is not finite any more never recovers.
constexpr int64_t kMostSkippedInARow = 20;

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Precision PrecisionOf(const std::string& name) {
  if (name == "bf16") return Precision::kBf16;
  return name == "fp16" ? Precision::kFp16 : Precision::kFp32;
}

Compression CompressionOf(const std::string& name) {
  if (name == "bf16") return Compression::kBf16;
  if (name == "fp16") return Compression::kFp16;
  return name == "powersgd" ? Compression::kPowerSgd : Compression::kNone;
}

// Returns each tensor once, without those that are not trained.
std::vector<NamedTensor> Trained(std::vector<NamedTensor> all) {
  std::vector<NamedTensor> some;
  for (NamedTensor& one : EachOnce(std::move(all))) {
    if (one.tensor.requires_grad()) some.push_back(std::move(one));
  }
  return some;
}

}  // namespace

Trainer::Trainer(Task* task, const TrainOptions& options, std::shared_ptr<Communicator> group,
                 const Metrics& metrics, const StopSignals& signals, Checkpointer* checkpoints,
                 PeerSnapshots* kept, at::Device device)
    : task_(task),
      options_(options),
      group_(std::move(group)),
      metrics_(metrics),
      signals_(signals),
      checkpoints_(checkpoints),
      kept_(kept),
      device_(device),
      precision_(PrecisionOf(options.precision)),
      training_(task->TrainingData()),
      test_(task->TestData()),
      agreement_(group_) {
  if (training_ == nullptr || training_->size() == 0) {
    throw std::runtime_error("there is nothing to train on: the task's TrainingData() has none");
  }
  data_ = training_->Fingerprint();
  std::vector<std::string> lines = {absl::StrCat("training data ", data_)};
  if (test_ != nullptr) lines.push_back(absl::StrCat("test data ", test_->Fingerprint()));
  CheckSameOnAllRanks(*group_, lines);

  sampler_ = std::make_unique<DistributedSampler>(MakeSampler(/*shuffle=*/true));
  all_steps_ = sampler_->steps() * options_.epochs;
  MakeModel();
  MakeReplica();
  if (precision_ == Precision::kFp16) scaler_ = std::make_unique<LossScaler>(group_);
  if (scaler_ || options_.on_nan == "skip") buffers_before_.emplace(model_->Buffers());
}

void Trainer::MakeModel() {
  try {
    model_ = options_.model.empty() ? task_->MakeModel() : LoadScriptModel(options_.model, device_);
    model_->MoveTo(device_);
  } catch (const std::exception& error) {
    throw std::runtime_error(OneLineOfMakingAModel(error));
  }
  TryModel(TrialOfStep(), *training_, task_, model_.get());
}

DistributedSampler Trainer::MakeSampler(bool shuffle) const {
  return {training_->size(), group_->rank(), group_->size(),
          SamplerOptions{.batch = options_.batch,
                         .seed = static_cast<uint64_t>(options_.seed),
                         .shuffle = shuffle,
                         .weights = options_.shares}};
}

Trial Trainer::TrialOfStep() const {
  return {.model = options_.model.empty() ? "the model" : options_.model,
          .samples = static_cast<int64_t>(sampler_->Indices(0).size()),
          .precision = precision_,
          .device = device_};
}

// Tries the last step of the current epoch, whose rest may be cut differently, and of a whole one.
void Trainer::TryLastSteps() {
  if (at_.epoch > options_.epochs) return;
  DistributedSampler in_order = MakeSampler(/*shuffle=*/false);
  const Trial trial = TrialOfStep();
  std::set<int64_t> tried;
  for (const int64_t done : {at_.done, int64_t{0}}) {
    in_order.BeginEpoch(at_.epoch, done);
    const auto samples = static_cast<int64_t>(in_order.Indices(in_order.steps() - 1).size());
    if (samples == 0 || (samples > 1 && samples >= trial.samples)) continue;
    if (!tried.insert(samples).second) continue;
    TryLastStep(trial, samples, *training_, task_, model_.get());
  }
}

void Trainer::MakeReplica() {
  const std::vector<NamedTensor> parameters = Trained(model_->Parameters());
  const bool local = options_.local_steps > 0;
  CompressionOptions compression = {.kind = CompressionOf(options_.compression),
                                    .powersgd_rank = static_cast<int>(options_.powersgd_rank)};
  optimizer_ = MakeOptimizer(options_, parameters, group_);
  const Compression of_steps = local ? compression.kind : Compression::kNone;
  if (local) compression = {};
  replica_ = std::make_unique<Replica>(
      model_->Parameters(), model_->Buffers(), group_,
      DataParallelOptions{.reducer = {.weighted = true, .compression = compression},
                          .shard = optimizer_->shard()});
  if (!local) return;
  replica_->reducer().set_synchronized(false);
  local_ = std::make_unique<LocalSteps>(
      parameters, EachOnce(model_->Buffers()), group_,
      LocalStepsOptions{.steps = static_cast<int>(options_.local_steps),
                        .lr = options_.outer_lr,
                        .momentum = options_.outer_momentum,
                        .compression = of_steps});
}

Trainer::~Trainer() = default;

void Trainer::Say(const std::string& line) const {
  if (group_->rank() != 0) return;
  Print(line + "\n");
}

CheckpointSubject Trainer::Subject() {
  CheckpointSubject subject = {model_->Parameters(), model_->Buffers(), optimizer_.get()};
  if (!local_) return subject;
  for (const NamedTensor& one : local_->momenta()) {
    subject.buffers.push_back({absl::StrCat("outer_momentum.", one.name), one.tensor});
  }
  return subject;
}

// Returns whether there was anything to go on from.
bool Trainer::GoOn(TrainSummary* summary) {
  std::optional<int64_t> in_memory;
  if (kept_ != nullptr && summary->regroupings > 0) in_memory = kept_->FindNewest(*group_);
  std::optional<Progress> progress;
  const auto saved = checkpoints_ == nullptr ? std::nullopt : checkpoints_->NewestStep();
  if (saved && *saved > in_memory.value_or(-1)) {
    try {
      progress = GoOnFromCheckpoint();
    } catch (const CheckpointError& error) {  // thrown on all ranks
      if (!in_memory) throw;
      Say(absl::StrCat("not gone on from: ", error.what()));
    }
  }
  // If the newest checkpoint is torn, an older one may have been taken.
  if (in_memory && (!progress || progress->step < *in_memory)) {
    progress = GoOnFromMemory();
  } else if (kept_ != nullptr) {
    kept_->Forget();
  }
  if (progress) TakeOver(*progress, summary);
  return progress.has_value();
}

Progress Trainer::GoOnFromMemory() {
  const Progress progress = kept_->Restore(Subject(), *group_);
  Say(absl::StrCat("going on at step ", progress.step, ", epoch ", progress.values.at("epoch"),
                   ", from the memory of ", Count(kept_->ranks(), "rank")));
  return progress;
}

std::optional<Progress> Trainer::GoOnFromCheckpoint() {
  const auto loaded = checkpoints_->Load(Subject());
  if (!loaded) return std::nullopt;
  const Progress& progress = loaded->progress;
  const TrainingPosition there = PositionOf(progress.step, progress.values, training_->size());
  CheckTraits(progress.step, progress.values, task_->ModelTraits());
  if (kept_ != nullptr && !kept_->passed_over().empty()) Say(kept_->passed_over());
  last_saved_ = progress.step;
  told_ = last_saved_;
  Say(absl::StrCat("going on at step ", progress.step, ", epoch ", there.epoch, ", from ",
                   Count(loaded->world, "rank")));
  for (const std::string& line : loaded->passed_over) Say(line);
  const std::string differ = OptionsThatDiffer(progress.values, options_);
  if (!differ.empty()) Say("options are other than the checkpoint's: " + differ);
  const std::string data = DataThatDiffers(progress.values, data_);
  if (!data.empty()) Say("the training data are other than the checkpoint's: " + data);
  return progress;
}

void Trainer::TakeOver(const Progress& progress, TrainSummary* summary) {
  at_ = PositionOf(progress.step, progress.values, training_->size());
  if (summary->epochs != at_.epoch - 1) {
    summary->loss = NAN;
    summary->test.clear();
  }
  summary->epochs = at_.epoch - 1;
  if (scaler_ && progress.values.count("scale") == 0) {
    throw CheckpointError(
        absl::StrCat("the checkpoint of step ", progress.step,
                     " is of a training without --precision fp16: "
                     "say the precision that it had, or another --checkpoint-dir"));
  }
  if (scaler_) {
    auto number = [&](const std::string& key) {
      return NumberOf(progress.step, progress.values, key);
    };
    scaler_->Restore(number("scale"), static_cast<int>(number("good_steps")));
  }
  if (local_) local_->Reset();
}

Progress Trainer::ProgressNow() const {
  Progress progress = {.step = at_.steps};
  progress.values = RememberedOptions(options_);
  progress.values.merge(RememberedTraits(task_->ModelTraits(), data_));
  progress.values.merge(ValuesOf(at_, training_->size()));
  if (scaler_) {
    progress.values["scale"] = absl::StrCat(scaler_->scale());
    progress.values["good_steps"] = absl::StrCat(scaler_->good_steps());
  }
  return progress;
}

void Trainer::Save() {
  if (checkpoints_ == nullptr || at_.steps == last_saved_) return;
  last_saved_ = at_.steps;
  SynchronizeRanks();
  checkpoints_->Save(ProgressNow(), Subject());
}

void Trainer::Keep() {
  if (kept_ == nullptr) return;
  SynchronizeRanks();
  kept_->Keep(ProgressNow(), Subject(), *group_);
}

// Makes the ranks the same, before anything is saved or evaluated.
void Trainer::SynchronizeRanks() {
  if (local_) {
    local_->Synchronize();
  } else {
    replica_->SynchronizeBuffers();
  }
}

// A checkpoint only becomes whole some time after it was begun.
void Trainer::TellSaved() {
  if (checkpoints_ == nullptr || group_->rank() != 0 || checkpoints_->saved() == told_) return;
  told_ = checkpoints_->saved();
  if (told_) metrics_.CheckpointSaved(*told_);
}

void Trainer::Run(TrainSummary* summary) {
  if (!GoOn(summary) && summary->regroupings > 0) {
    const std::string lost = kept_ == nullptr ? "" : kept_->passed_over();
    throw TrainingError(absl::StrCat("the ranks that are left have no checkpoint to go on from",
                                     lost.empty() ? "" : ", and ", lost));
  }
  TryLastSteps();
  Keep();
  WarnOfMetrics();
  // The seed differs from rank to rank, for dropout, and is not the one from before a restart.
  at::manual_seed(
      static_cast<uint64_t>(options_.seed + 1000003 * (group_->rank() + 1) + at_.steps));
  begin_ = std::chrono::steady_clock::now();
  first_epoch_ = at_.epoch;
  summary->stopped = false;
  if (!summary->begin) {
    summary->begin = begin_;
    summary->samples_before = at_.samples;
  }
  if (at_.epoch > options_.epochs) TestWhatIsThere(summary);
  while (at_.epoch <= options_.epochs && !summary->stopped) {
    summary->stopped = !RunEpoch(at_.epoch, summary);
    if (!summary->stopped) summary->epochs = at_.epoch - 1;
    const bool last = summary->stopped || at_.epoch > options_.epochs;
    if (last || options_.checkpoint_every == 0) Save();
  }
  if (checkpoints_ != nullptr) checkpoints_->Wait();
  TellSaved();
  if (summary->stopped) {
    Say(absl::StrCat("stopped after step ", at_.steps,
                     checkpoints_ == nullptr ? "; there is no checkpoint (--checkpoint-dir)"
                                             : ", of which there is a checkpoint"));
  }
  SumUp(summary);
  const auto bottleneck = DataBottleneck(summary->data_wait_share, summary->seconds,
                                         static_cast<int>(options_.workers));
  if (bottleneck) Say(*bottleneck);
}

// Evaluates when there is nothing left to train.
void Trainer::TestWhatIsThere(TrainSummary* summary) {
  const int64_t done = at_.epoch - 1;
  Say(done <= options_.epochs
          ? absl::StrCat("nothing left to do: ", done, " of ", Count(options_.epochs, "epoch"),
                         done == 1 ? " is" : " are", " done (raise --epochs)")
          : absl::StrCat("nothing left to do: ", Count(done, "epoch"),
                         " are done, and --epochs is ", options_.epochs, " (raise it)"));
  if (test_ != nullptr) summary->test = Test();
}

void Trainer::SumUp(TrainSummary* summary) const {
  summary->steps = at_.steps;
  summary->samples = at_.samples;
  summary->skipped = at_.skipped;
  summary->seconds = SecondsSince(*summary->begin);
  if (summary->seconds <= 0) return;
  summary->samples_per_second =
      static_cast<double>(summary->samples - summary->samples_before) / summary->seconds;
  summary->data_wait_share = summary->waited / summary->seconds;
}

bool Trainer::RunEpoch(int64_t epoch, TrainSummary* summary) {
  const auto begin = std::chrono::steady_clock::now();
  Epoch sums;
  bool on = true;
  {
    sampler_->BeginEpoch(epoch, at_.done);
    PrefetchingLoader loader(
        training_, *sampler_,
        {.prefetch = {.workers = static_cast<int>(options_.workers)}, .pinned = device_.is_cuda()});
    model_->SetTraining(true);
    while (on) {
      std::optional<LoadedBatch> loaded = loader.Next();
      if (!loaded) break;
      on = Step(std::move(*loaded), &sums);
      const bool due = options_.checkpoint_every > 0 && at_.steps % options_.checkpoint_every == 0;
      if (on && due) Save();
      const int64_t keep = options_.keep_in_memory;
      if (on && keep > 0 && at_.steps % keep == 0) Keep();
      TellSaved();
    }
    sums.waited = std::chrono::duration<double>(loader.waited()).count();
  }
  SynchronizeRanks();
  sums.seconds = SecondsSince(begin);

  SumOverRanks(&sums);
  summary->waited += sums.waited;
  if (sums.good > 0) summary->loss = sums.loss_sum / static_cast<double>(sums.good);
  if (!on) return false;
  ++at_.epoch;
  at_.done = 0;
  if (test_ != nullptr) summary->test = Test();
  Report(epoch, sums, *summary);
  return true;
}

// Sums the losses over all samples. Of the times it takes the longest, since the rank that waited
// longest made the others wait.
void Trainer::SumOverRanks(Epoch* sums) {
  at::Tensor of_all = at::tensor({sums->loss_sum, static_cast<double>(sums->good)}, at::kDouble);
  group_->AllReduce(of_all, ReduceOp::kSum, {"loss of an epoch", {}})->Wait();
  at::Tensor longest = at::tensor({sums->waited, sums->seconds}, at::kDouble);
  group_->AllReduce(longest, ReduceOp::kMax, {"times of an epoch", {}})->Wait();
  sums->loss_sum = of_all[0].item<double>();
  sums->good = of_all[1].item<int64_t>();
  sums->waited = longest[0].item<double>();
  sums->seconds = longest[1].item<double>();
}

void Trainer::BeforeForward() {
  replica_->BeforeForward(true);
  if (buffers_before_) buffers_before_->Renew();
}

// Returns the loss of this rank's samples.
at::Tensor Trainer::Forward(const LoadedBatch& loaded) {
  const Batch batch = OnDevice(loaded.batch, device_);
  Autocast autocast(precision_, device_.type());
  BeforeForward();
  const at::Tensor output = model_->Forward(task_->Input(batch));
  replica_->AfterForward({output});
  at::Tensor loss = task_->Loss(output, batch);
  CheckLoss(loss);
  if (loss.requires_grad()) return loss;
  throw TrainingError(absl::StrCat("no parameter that is trained has a part in the loss: does ",
                                   options_.model.empty() ? "the model" : options_.model,
                                   ", or the task's Loss, detach or round?"));
}

// Afterwards gradients are there, and reduced if they must be. Sets `value` to this rank's loss.
StepAgreement::Outcome Trainer::ForwardAndBackward(const LoadedBatch& loaded, double* value) {
  const bool has_samples = loaded.samples > 0;
  if (!local_) replica_->reducer().set_weight(static_cast<double>(loaded.samples));
  at::Tensor loss;
  std::optional<PendingNumber> number;
  if (has_samples) {
    loss = Forward(loaded);
    number.emplace(loss);
  } else if (!local_) {
    BeforeForward();
  }
  auto begin_to_agree = [&] {
    if (number) *value = number->Value();
    agreement_.Begin(signals_.requested(), !std::isfinite(*value));
  };
  // On a CPU the ranks agree beside the backward pass. A GPU would have nothing to do until that
  // pass is queued, so there they agree afterwards.
  if (device_.is_cpu()) begin_to_agree();
  if (has_samples) {
    torch::autograd::backward({scaler_ ? scaler_->Scale(loss) : loss}, {});
  } else if (!local_) {
    replica_->reducer().SynchronizeGradients();
  }
  if (!device_.is_cpu()) begin_to_agree();
  return agreement_.End();
}

bool Trainer::Step(LoadedBatch loaded, Epoch* sums) {
  double value = 0;
  const StepAgreement::Outcome outcome = ForwardAndBackward(loaded, &value);
  if (outcome.bad_loss_of && options_.on_nan == "stop") {
    throw TrainingError(absl::StrCat(
        "rank ", group_->NumberOf(*outcome.bad_loss_of), ": the loss of step ", at_.steps + 1,
        " (epoch ", at_.epoch, ") is not finite: ",
        at_.steps == 0
            ? "nothing was learned yet, so look at the data (NaN, very large numbers) and "
              "at the model; or leave such steps out with --on-nan skip"
            : "lower --lr, use --clip or --warmup, or leave such steps out with --on-nan "
              "skip"));
  }
  if (!outcome.bad_loss_of && GradientsAreFinite()) {
    TakeStep(loaded.samples > 0);
    skipped_in_a_row_ = 0;
    sums->loss_sum += value * static_cast<double>(loaded.samples);
    sums->good += loaded.samples;
  } else {
    LeaveOut();
  }
  optimizer_->ZeroGrad();
  model_->EndStep();
  if (local_) local_->Step(static_cast<double>(loaded.samples));
  ++at_.steps;
  sums->samples += loaded.samples_of_all;
  at_.samples += loaded.samples_of_all;
  at_.done += loaded.samples_of_all;
  return !outcome.stop;
}

void Trainer::LeaveOut() {
  ++at_.skipped;
  model_->EndStep();
  if (buffers_before_) buffers_before_->Restore();
  if (++skipped_in_a_row_ < kMostSkippedInARow) return;
  throw TrainingError(absl::StrCat("no loss or gradient was finite for ", kMostSkippedInARow,
                                   " steps up to step ", at_.steps + 1, " (epoch ", at_.epoch,
                                   "): the model is lost; lower --lr or use --clip"));
}

bool Trainer::GradientsAreFinite() {
  if (scaler_) return scaler_->Unscale(optimizer_->OwnGradients());
  if (options_.on_nan != "skip") return true;
  // The ranks have different gradients to look at: parts of the same ones, or each its own.
  at::Tensor bad =
      at::full({1}, MultiplyGradients(optimizer_->OwnGradients(), 1) ? 0 : 1, at::kInt);
  group_->AllReduce(bad, ReduceOp::kMax, {"gradients that are not finite", {}})->Wait();
  return bad.item<int>() == 0;
}

void Trainer::TakeStep(bool has_samples) {
  if (local_ && !has_samples) return;
  if (options_.clip > 0) optimizer_->ClipGradNorm(options_.clip);
  optimizer_->hyperparameters(0).lr = LearningRate(options_, at_.steps, all_steps_);
  optimizer_->Step();
}

std::map<std::string, double> Trainer::Test() {
  return Evaluate(test_, task_, model_.get(), *group_,
                  {.batch = options_.batch,
                   .workers = static_cast<int>(options_.workers),
                   .precision = precision_,
                   .device = device_});
}

void Trainer::Report(int64_t epoch, const Epoch& sums, const TrainSummary& summary) {
  const double share = sums.seconds > 0 ? sums.waited / sums.seconds : 0;
  const double rate = sums.seconds > 0 ? static_cast<double>(sums.samples) / sums.seconds : 0;
  const double an_epoch = SecondsSince(begin_) / static_cast<double>(epoch - first_epoch_ + 1);
  std::string judged;
  for (const auto& [name, value] : summary.test) {
    absl::StrAppendFormat(&judged, "test %s %.4f  ", name, value);
  }
  const double left = an_epoch * static_cast<double>(options_.epochs - epoch);
  Say(absl::StrFormat("epoch %d/%d  loss %.4f  %s%.0f samples/s  data wait %.0f %%  %s",
                      static_cast<int>(epoch), static_cast<int>(options_.epochs), summary.loss,
                      judged, rate, share * 100,
                      left > 0 ? HumanDuration(absl::Seconds(left)) + " left" : "done"));
  if (group_->rank() != 0) return;
  std::vector<std::pair<std::string, double>> values = {{"epoch", static_cast<double>(epoch)},
                                                        {"loss", summary.loss},
                                                        {"samples_per_second", rate},
                                                        {"data_wait_share", share}};
  for (const auto& [name, value] : summary.test) values.emplace_back("test_" + name, value);
  metrics_.Log(at_.steps, values);
  WarnOfMetrics();
}

// Warns only once.
void Trainer::WarnOfMetrics() {
  if (group_->rank() != 0 || warned_ || metrics_.warning().empty()) return;
  warned_ = true;
  std::fprintf(stderr, "%s\n", metrics_.warning().c_str());
}

}  // namespace hpc::train
