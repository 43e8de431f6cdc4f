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

// All ranks throw it at the same place: a loss that is not finite, or no checkpoint to go on from.
class TrainingError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Of a run, over all groups of ranks that this process was in.
struct TrainSummary {
  int64_t epochs = 0, steps = 0, samples = 0;  // of all ranks, and of what was gone on from
  int64_t skipped = 0;                         // steps left out for what is not finite
  double loss = NAN;                           // mean over the last epoch that had a step
  std::map<std::string, double> test;          // "loss" and what the task judges by
  double seconds = 0, samples_per_second = 0, data_wait_share = 0;
  bool stopped = false;  // asked to, before the end
  int regroupings = 0;

  // What these are worked out from.
  std::optional<std::chrono::steady_clock::time_point> begin;
  int64_t samples_before = 0;  // those that the first group went on from
  double waited = 0;           // seconds, for data, by the rank that waited longest of each epoch
};

// Used from one thread. All methods are collectives. Throws CollectiveError, and on all ranks
// TrainingError where a loss is not finite and the options say to stop.
class Trainer {
 public:
  // `metrics`, `signals` and `checkpoints` outlive it; `kept` outlives all groups. `checkpoints`
  // and `kept` may be nullptr: none are saved, nothing is kept in memory. `device` is that of the
  // model.
  Trainer(Task* task, const TrainOptions& options, std::shared_ptr<Communicator> group,
          const Metrics& metrics, const StopSignals& signals, Checkpointer* checkpoints,
          PeerSnapshots* kept, at::Device device);
  ~Trainer();

  // Goes on from the newest checkpoint, if there is one, and says on rank 0's standard output how
  // it goes, a line an epoch. `summary` has what trainers of groups before this one's came to.
  // After a regrouping it goes on from what is kept in memory where no checkpoint is newer; there
  // must be something to go on from, else TrainingError.
  void Run(TrainSummary* summary);

 private:
  struct Epoch {
    double loss_sum = 0;  // of this rank, later of all
    int64_t samples = 0;  // of all
    int64_t good = 0;     // samples of this rank whose loss is in loss_sum
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
  // False where the ranks were asked to stop.
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
  std::string data_;  // training_'s fingerprint
  std::unique_ptr<Model> model_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<ShardedOptimizer> optimizer_;
  std::unique_ptr<LocalSteps> local_;
  std::unique_ptr<LossScaler> scaler_;
  std::optional<BufferCopy> buffers_before_;  // the step, where one may be left out
  std::unique_ptr<DistributedSampler> sampler_;
  StepAgreement agreement_;
  int64_t all_steps_ = 0;
  TrainingPosition at_;
  int64_t last_saved_ = -1;
  std::optional<int64_t> told_;  // the last checkpoint that the metrics tell of
  int64_t skipped_in_a_row_ = 0;
  bool warned_ = false;  // that metrics are not written
  std::chrono::steady_clock::time_point begin_;
  int64_t first_epoch_ = 1;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRAINER_H_
