#include "train/program/trainer.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/text.h"
#include "train/agreement.h"
#include "train/program/one_line.h"
#include "train/program/remembered_options.h"
#include "train/program/standard_output.h"
#include "train/program/trial.h"

namespace hpc::train {
namespace {

// With --on-nan skip: a model that is not finite any more never comes back.
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

// Each once, without those that are not trained.
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
  std::vector<std::string> lines = {absl::StrCat("training data ", training_->Fingerprint())};
  if (test_ != nullptr) lines.push_back(absl::StrCat("test data ", test_->Fingerprint()));
  CheckSameOnAllRanks(*group_, lines);

  MakeModel();
  MakeReplica();
  if (precision_ == Precision::kFp16) scaler_ = std::make_unique<LossScaler>(group_);
  sampler_ = std::make_unique<DistributedSampler>(
      training_->size(), group_->rank(), group_->size(),
      SamplerOptions{.batch = options_.batch,
                     .seed = static_cast<uint64_t>(options_.seed),
                     .weights = options_.shares});
  all_steps_ = sampler_->steps() * options_.epochs;
}

void Trainer::MakeModel() {
  try {
    model_ = options_.model.empty() ? task_->MakeModel() : LoadScriptModel(options_.model, device_);
    model_->MoveTo(device_);
  } catch (const std::exception& error) {
    throw std::runtime_error(OneLineOfMakingAModel(error));
  }
  const int64_t part = (options_.batch + group_->size() - 1) / group_->size();
  TryModel({.model = options_.model.empty() ? "the model" : options_.model,
            .samples = part,
            .precision = precision_,
            .device = device_},
           *training_, task_, model_.get());
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

// Whether there was anything to go on from.
bool Trainer::GoOn(TrainSummary* summary) {
  std::optional<int64_t> in_memory;
  if (kept_ != nullptr && summary->regroupings > 0) in_memory = kept_->FindNewest(*group_);
  std::optional<Progress> progress;
  const auto saved = checkpoints_ == nullptr ? std::nullopt : checkpoints_->NewestStep();
  if (saved && *saved > in_memory.value_or(-1)) {
    try {
      progress = GoOnFromCheckpoint();
    } catch (const CheckpointError& error) {  // on all ranks
      if (!in_memory) throw;
      Say(absl::StrCat("not gone on from: ", error.what()));
    }
  }
  // An older one may have been taken, where the newest is torn.
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
  const auto epoch = loaded->progress.values.find("epoch");
  if (epoch == loaded->progress.values.end()) {
    throw CheckpointError(absl::StrCat("the checkpoint of step ", loaded->progress.step,
                                       " does not say 'epoch': it is of another program"));
  }
  if (kept_ != nullptr && !kept_->passed_over().empty()) Say(kept_->passed_over());
  last_saved_ = loaded->progress.step;
  told_ = last_saved_;
  Say(absl::StrCat("going on at step ", loaded->progress.step, ", epoch ", epoch->second, ", from ",
                   Count(loaded->world, "rank")));
  for (const std::string& line : loaded->passed_over) Say(line);
  CheckTraits(loaded->progress);
  const std::string differ = OptionsThatDiffer(loaded->progress.values, options_);
  if (!differ.empty()) Say("options are other than the checkpoint's: " + differ);
  return loaded->progress;
}

// Older checkpoints do not say them.
void Trainer::CheckTraits(const Progress& progress) {
  for (const auto& [name, here] : task_->ModelTraits()) {
    const auto there = progress.values.find("model." + name);
    if (there == progress.values.end() || there->second == here) continue;
    throw CheckpointError(
        absl::StrCat("the checkpoint of step ", progress.step, " is of another model: ", name,
                     " is ", there->second, " in the checkpoint and ", here,
                     " in the model; say another --checkpoint-dir, or delete the checkpoint"));
  }
}

void Trainer::TakeOver(const Progress& progress, TrainSummary* summary) {
  auto value = [&](const std::string& key) {
    const auto found = progress.values.find(key);
    double number = 0;
    if (found != progress.values.end() && absl::SimpleAtod(found->second, &number)) return number;
    throw CheckpointError(absl::StrCat("the checkpoint of step ", progress.step, " does not say '",
                                       key, "': it is of another program"));
  };
  auto whole = [&](const std::string& key, double least) {
    constexpr double kMost = 1e15;
    const double number = value(key);
    if (number >= least && number <= kMost) return std::llround(number);
    throw CheckpointError(absl::StrCat("the checkpoint of step ", progress.step,
                                       " is damaged: its '", key, "' is ", number));
  };
  steps_ = progress.step;
  epoch_ = whole("epoch", 1);
  done_ = whole("done", 0);
  if (done_ > training_->size()) {
    throw CheckpointError(absl::StrCat("the checkpoint of step ", steps_, " is of ", done_,
                                       " samples into an epoch, but there are ",
                                       training_->size()));
  }
  summary->samples = whole("samples", 0);
  summary->skipped = whole("skipped", 0);
  if (EpochIsDone()) {  // it was written after the epoch's last step
    ++epoch_;
    done_ = 0;
  }
  if (summary->epochs != epoch_ - 1) {
    summary->loss = NAN;
    summary->test.clear();
  }
  summary->epochs = epoch_ - 1;
  if (scaler_ && progress.values.count("scale") == 0) {
    throw CheckpointError(
        absl::StrCat("the checkpoint of step ", progress.step,
                     " is of a training without --precision fp16: "
                     "say the precision that it had, or another --checkpoint-dir"));
  }
  if (scaler_) scaler_->Restore(value("scale"), static_cast<int>(value("good_steps")));
  if (local_) local_->Reset();
}

Progress Trainer::ProgressOf(const TrainSummary& summary) const {
  Progress progress = {.step = steps_};
  progress.values = RememberedOptions(options_);
  for (const auto& [name, value] : task_->ModelTraits()) progress.values["model." + name] = value;
  progress.values["epoch"] = absl::StrCat(EpochIsDone() ? epoch_ + 1 : epoch_);
  progress.values["done"] = absl::StrCat(EpochIsDone() ? 0 : done_);
  progress.values["samples"] = absl::StrCat(summary.samples);
  progress.values["skipped"] = absl::StrCat(summary.skipped);
  if (scaler_) {
    progress.values["scale"] = absl::StrCat(scaler_->scale());
    progress.values["good_steps"] = absl::StrCat(scaler_->good_steps());
  }
  return progress;
}

void Trainer::Save(const TrainSummary& summary) {
  if (checkpoints_ == nullptr || steps_ == last_saved_) return;
  last_saved_ = steps_;
  if (local_) local_->Synchronize();
  checkpoints_->Save(ProgressOf(summary), Subject());
}

void Trainer::Keep(const TrainSummary& summary) {
  if (kept_ == nullptr) return;
  if (local_) local_->Synchronize();
  kept_->Keep(ProgressOf(summary), Subject(), *group_);
}

// It is whole some time after it was begun.
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
  Keep(*summary);
  // Dropout differs from rank to rank, and is not again what it was before a restart.
  at::manual_seed(static_cast<uint64_t>(options_.seed + 1000003 * (group_->rank() + 1) + steps_));
  begin_ = std::chrono::steady_clock::now();
  first_epoch_ = epoch_;
  summary->stopped = false;
  if (!summary->begin) {
    summary->begin = begin_;
    summary->samples_before = summary->samples;
  }
  if (epoch_ > options_.epochs) TestWhatIsThere(summary);
  while (epoch_ <= options_.epochs && !summary->stopped) {
    summary->stopped = !RunEpoch(epoch_, summary);
    if (!summary->stopped) summary->epochs = epoch_ - 1;
    if (summary->stopped || options_.checkpoint_every == 0) Save(*summary);
  }
  if (checkpoints_ != nullptr) checkpoints_->Wait();
  TellSaved();
  SumUp(summary);
  const auto bottleneck = DataBottleneck(summary->data_wait_share, summary->seconds,
                                         static_cast<int>(options_.workers));
  if (bottleneck) Say(*bottleneck);
}

// Where there is nothing left to train.
void Trainer::TestWhatIsThere(TrainSummary* summary) {
  const int64_t done = epoch_ - 1;
  Say(done <= options_.epochs
          ? absl::StrCat("nothing left to do: ", done, " of ", Count(options_.epochs, "epoch"),
                         done == 1 ? " is" : " are", " done (raise --epochs)")
          : absl::StrCat("nothing left to do: ", Count(done, "epoch"),
                         " are done, and --epochs is ", options_.epochs, " (raise it)"));
  if (test_ != nullptr) summary->test = Test();
}

void Trainer::SumUp(TrainSummary* summary) const {
  summary->steps = steps_;
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
    sampler_->BeginEpoch(epoch, done_);
    PrefetchingLoader loader(
        training_, *sampler_,
        {.prefetch = {.workers = static_cast<int>(options_.workers)}, .pinned = device_.is_cuda()});
    model_->SetTraining(true);
    while (on) {
      std::optional<LoadedBatch> loaded = loader.Next();
      if (!loaded) break;
      on = Step(std::move(*loaded), &sums, summary);
      const bool due = options_.checkpoint_every > 0 && steps_ % options_.checkpoint_every == 0;
      if (on && due) Save(*summary);
      const int64_t keep = options_.keep_in_memory;
      if (on && keep > 0 && steps_ % keep == 0) Keep(*summary);
      TellSaved();
    }
    sums.waited = std::chrono::duration<double>(loader.waited()).count();
  }
  if (local_) local_->Synchronize();
  sums.seconds = SecondsSince(begin);

  SumOverRanks(&sums);
  summary->waited += sums.waited;
  if (sums.good > 0) summary->loss = sums.loss_sum / static_cast<double>(sums.good);
  if (!on) return false;
  ++epoch_;
  done_ = 0;
  if (test_ != nullptr) summary->test = Test();
  Report(epoch, sums, *summary);
  return true;
}

// The loss of all samples; the rank that waited longest made the others wait.
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

double Trainer::RateNow() const {
  if (steps_ < options_.warmup) {
    return options_.lr * static_cast<double>(steps_ + 1) / static_cast<double>(options_.warmup);
  }
  if (options_.schedule != "cosine" || all_steps_ <= options_.warmup) return options_.lr;
  const double done = static_cast<double>(steps_ - options_.warmup) /
                      static_cast<double>(all_steps_ - options_.warmup);
  return options_.lr * (0.1 + 0.45 * (1 + std::cos(M_PI * std::min(1.0, done))));
}

Batch Trainer::OnDevice(Batch batch) const {
  if (device_.is_cpu()) return batch;
  for (at::Tensor& tensor : batch) tensor = tensor.to(device_, /*non_blocking=*/true);
  return batch;
}

// The loss of this rank's samples.
at::Tensor Trainer::Forward(const LoadedBatch& loaded) {
  const Batch batch = OnDevice(loaded.batch);
  Autocast autocast(precision_, device_.type());
  replica_->BeforeForward(true);
  const at::Tensor output = model_->Forward(task_->Input(batch));
  replica_->AfterForward({output});
  at::Tensor loss = task_->Loss(output, batch);
  if (loss.requires_grad()) return loss;
  throw TrainingError(absl::StrCat(
      options_.model.empty() ? "the model" : options_.model,
      " gives what no parameter that is trained has a part in: does it detach, or round?"));
}

// Gradients are there then, and reduced where they are to be. `value` becomes this rank's loss.
StepAgreement::Outcome Trainer::ForwardAndBackward(const LoadedBatch& loaded, double* value) {
  const bool has_samples = loaded.samples > 0;
  if (!local_) replica_->reducer().set_weight(static_cast<double>(loaded.samples));
  at::Tensor loss;
  if (has_samples) {
    loss = Forward(loaded);
    *value = loss.item<double>();
  } else if (!local_) {
    replica_->BeforeForward(true);
  }
  agreement_.Begin(signals_.requested(), !std::isfinite(*value));
  if (has_samples) {
    torch::autograd::backward({scaler_ ? scaler_->Scale(loss) : loss}, {});
  } else if (!local_) {
    replica_->reducer().SynchronizeGradients();
  }
  return agreement_.End();
}

bool Trainer::Step(LoadedBatch loaded, Epoch* sums, TrainSummary* summary) {
  double value = 0;
  const StepAgreement::Outcome outcome = ForwardAndBackward(loaded, &value);
  if (outcome.bad_loss_of && options_.on_nan == "stop") {
    throw TrainingError(absl::StrCat(
        "rank ", group_->NumberOf(*outcome.bad_loss_of), ": the loss of step ", steps_ + 1,
        " (epoch ", epoch_, ") is not finite: ",
        steps_ == 0 ? "nothing was learned yet, so look at the data (NaN, very large numbers) and "
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
    LeaveOut(summary);
  }
  optimizer_->ZeroGrad();
  if (local_) local_->Step(static_cast<double>(loaded.samples));
  ++steps_;
  sums->samples += loaded.samples_of_all;
  summary->samples += loaded.samples_of_all;
  done_ += loaded.samples_of_all;
  return !outcome.stop;
}

void Trainer::LeaveOut(TrainSummary* summary) {
  ++summary->skipped;
  if (++skipped_in_a_row_ < kMostSkippedInARow) return;
  throw TrainingError(absl::StrCat("no loss or gradient was finite for ", kMostSkippedInARow,
                                   " steps up to step ", steps_ + 1, " (epoch ", epoch_,
                                   "): the model is lost; lower --lr or use --clip"));
}

bool Trainer::GradientsAreFinite() {
  if (scaler_) return scaler_->Unscale(optimizer_->OwnGradients());
  if (options_.on_nan != "skip") return true;
  // Each rank has its own part of them, or its own.
  at::Tensor bad =
      at::full({1}, MultiplyGradients(optimizer_->OwnGradients(), 1) ? 0 : 1, at::kInt);
  group_->AllReduce(bad, ReduceOp::kMax, {"gradients that are not finite", {}})->Wait();
  return bad.item<int>() == 0;
}

void Trainer::TakeStep(bool has_samples) {
  if (local_ && !has_samples) return;
  if (options_.clip > 0) optimizer_->ClipGradNorm(options_.clip);
  optimizer_->hyperparameters(0).lr = RateNow();
  optimizer_->Step();
}

// Each rank has a part of the test data.
std::map<std::string, double> Trainer::Test() {
  at::NoGradGuard no_grad;
  model_->SetTraining(false);
  // Equal parts, whatever the shares: rank 0 must have one, since it tells what comes of it.
  DistributedSampler sampler(
      test_->size(), group_->rank(), group_->size(),
      {.batch = std::max<int64_t>(options_.batch, group_->size()), .shuffle = false});
  PrefetchingLoader loader(
      test_, sampler,
      {.prefetch = {.workers = static_cast<int>(options_.workers)}, .pinned = device_.is_cuda()});
  std::map<std::string, double> sums;
  while (auto loaded = loader.Next()) {
    if (loaded->samples == 0) continue;
    const Batch batch = OnDevice(std::move(loaded->batch));
    Autocast autocast(precision_, device_.type());
    const at::Tensor output = model_->Forward(task_->Input(batch));
    sums["loss"] +=
        task_->Loss(output, batch).item<double>() * static_cast<double>(loaded->samples);
    for (const auto& [name, sum] : task_->Judge(output, batch)) sums[name] += sum;
  }
  model_->SetTraining(true);

  // A rank that had none does not know the names.
  std::vector<double> values;
  for (const auto& [name, sum] : sums) values.push_back(sum);
  int64_t most = static_cast<int64_t>(values.size());
  at::Tensor count = at::full({1}, most, at::kLong);
  group_->AllReduce(count, ReduceOp::kMax, {"measures of the test", {}})->Wait();
  most = count.item<int64_t>();
  values.resize(most);
  at::Tensor all = at::tensor(values, at::kDouble);
  group_->AllReduce(all, ReduceOp::kSum, {"sums of the test", {}})->Wait();
  size_t i = 0;
  for (auto& [name, sum] : sums) {
    sum = all[static_cast<int64_t>(i++)].item<double>() / static_cast<double>(test_->size());
  }
  return sums;
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
  metrics_.Log(steps_, values);
}

}  // namespace hpc::train
