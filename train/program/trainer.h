// Trains the model of a task on all ranks.
#ifndef HPC_TRAIN_PROGRAM_TRAINER_H_
#define HPC_TRAIN_PROGRAM_TRAINER_H_

#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "train/checkpoint/checkpointer.h"
#include "train/checkpoint/peer_snapshot.h"
#include "train/data/prefetching_loader.h"
#include "train/group/communicator.h"
#include "train/parallel/local_steps.h"
#include "train/parallel/precision.h"
#include "train/parallel/replica.h"
#include "train/parallel/step_agreement.h"
#include "train/program/buffer_copy.h"
#include "train/program/optimizer.h"
#include "train/program/task.h"
#include "train/program/training_position.h"
#include "train/program/trial.h"
#include "train/run_hooks.h"

namespace hpc::train {

// All ranks throw this at the same place, for a loss that is not finite, or for no checkpoint to go
// on from.
class TrainingError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The result of a run, over all groups of ranks that this process was in.
struct TrainSummary {
  int64_t epochs = 0, steps = 0, samples = 0;  // totals of all ranks, with what it went on from
  int64_t skipped = 0;                         // steps left out, as something was not finite
  double loss = NAN;                           // the mean over the last epoch that had a step
  std::map<std::string, double> test;          // "loss" and the task's measures
  double seconds = 0, samples_per_second = 0, data_wait_share = 0;
  bool stopped = false;  // it was asked to, before the end
  int regroupings = 0;

  // The values above are computed from these.
  std::optional<std::chrono::steady_clock::time_point> begin;
  int64_t samples_before = 0;  // those that the first group went on from
  double waited = 0;           // seconds that it waited for data: each epoch, the longest of a rank
};

// Must be used from one thread. All methods are collectives. They throw CollectiveError. They throw
// TrainingError, on all ranks, if a loss is not finite and the options say to stop.
class Trainer {
 public:
  // `metrics`, `signals` and `checkpoints` must outlive it, and `kept` must outlive all groups.
  // `checkpoints` and `kept` may be nullptr: no checkpoints are saved, or nothing is kept in
  // memory. `device` is that of the model.
  Trainer(Task* task, const TrainOptions& options, std::shared_ptr<Communicator> group,
          const Metrics& metrics, const StopSignals& signals, Checkpointer* checkpoints,
          PeerSnapshots* kept, at::Device device);
  ~Trainer();

  // Goes on from the newest checkpoint, if there is one, and reports on rank 0's standard output,
  // one line for each epoch. `summary` has the results of the trainers of groups before this one.
  // After a regrouping it goes on from what is kept in memory, unless a checkpoint is newer. If
  // there is nothing to go on from then, it throws TrainingError.
  void Run(TrainSummary* summary);

 private:
  struct Epoch {
    double loss_sum = 0;  // this rank's, later that of all
    int64_t samples = 0;  // those of all ranks
    int64_t good = 0;     // how many of this rank's samples are in loss_sum
    double seconds = 0, waited = 0;
  };

  void MakeModel();
  void MakeReplica();
  DistributedSampler MakeSampler(bool shuffle) const;
  Trial TrialOfStep() const;
  void TryLastSteps();
  void SynchronizeRanks();
  void BeforeForward();
  CheckpointSubject Subject();
  bool GoOn(TrainSummary* summary);
  Progress GoOnFromMemory();
  std::optional<Progress> GoOnFromCheckpoint();
  void TakeOver(const Progress& progress, TrainSummary* summary);
  void Keep();
  Progress ProgressNow() const;
  void SumUp(TrainSummary* summary) const;
  void Save();
  void TellSaved();
  void TestWhatIsThere(TrainSummary* summary);
  bool RunEpoch(int64_t epoch, TrainSummary* summary);
  // Returns false if the ranks were asked to stop.
  bool Step(LoadedBatch loaded, Epoch* sums);
  StepAgreement::Outcome ForwardAndBackward(const LoadedBatch& loaded, double* value);
  void LeaveOut();
  void SumOverRanks(Epoch* sums);
  at::Tensor Forward(const LoadedBatch& loaded);
  bool GradientsAreFinite();
  void TakeStep(bool has_samples);
  std::map<std::string, double> Test();
  void Report(int64_t epoch, const Epoch& sums, const TrainSummary& summary);
  void WarnOfMetrics();
  void Say(const std::string& line) const;

  Task* const task_;
  const TrainOptions options_;
  const std::shared_ptr<Communicator> group_;
  const Metrics& metrics_;
  const StopSignals& signals_;
  Checkpointer* const checkpoints_;
  PeerSnapshots* const kept_;
  const at::Device device_;
  const Precision precision_;

  std::shared_ptr<const DataSet> training_, test_;
  std::string data_;  // the fingerprint of training_
  std::unique_ptr<Model> model_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<ShardedOptimizer> optimizer_;
  std::unique_ptr<LocalSteps> local_;
  std::unique_ptr<LossScaler> scaler_;
  std::optional<BufferCopy> buffers_before_;  // as before the step, if steps may be left out
  std::unique_ptr<DistributedSampler> sampler_;
  StepAgreement agreement_;
  int64_t all_steps_ = 0;
  TrainingPosition at_;
  int64_t last_saved_ = -1;
  std::optional<int64_t> told_;  // the last checkpoint that the metrics have told
  int64_t skipped_in_a_row_ = 0;
  bool warned_ = false;  // about metrics that cannot be written
  std::chrono::steady_clock::time_point begin_;
  int64_t first_epoch_ = 1;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRAINER_H_
