// One rank's training from its first group of ranks to its last.
#ifndef HPC_TRAIN_PROGRAM_TRAINING_RUN_H_
#define HPC_TRAIN_PROGRAM_TRAINING_RUN_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "train/checkpoint/checkpointer.h"
#include "train/group/communicator.h"
#include "train/group/start_word.h"
#include "train/net/launch_environment.h"
#include "train/program/task.h"
#include "train/program/trainer.h"
#include "train/run_hooks.h"

namespace hpc::train {

// How long the ranks of a run have to come to its first group, where an operation has `deadline`:
// programs do not start at the same moment, and one that dies at its start is noticed by nothing
// else.
std::chrono::milliseconds StartDeadline(std::chrono::milliseconds deadline);

// Used from one thread.
class TrainingRun {
 public:
  // `lines`: what all ranks must have alike. `entry` and `options` outlive this.
  TrainingRun(const TaskEntry& entry, const TrainOptions& options, std::vector<std::string> lines,
              const LaunchEnvironment& environment, at::Device device);
  ~TrainingRun();

  // To the end, or to where it is stopped. Where ranks go and options.min_ranks are left, those
  // make a new group and everything that uses it, and go on from the newest checkpoint, or from
  // what they keep in memory unless that is older, as often as it happens. Throws CollectiveError:
  // no group can be made, or none is to be; what() says why. What else is thrown the others are
  // told.
  TrainSummary Run();

  // Of the last group.
  const LaunchEnvironment& environment() const { return environment_; }

 private:
  struct Parts;  // all that uses a group

  TrainSummary RunInGroups();
  void MakeParts();
  void Regroup(const CollectiveError& failure);
  std::shared_ptr<Communicator> MakeGroupOfThoseLeft(std::vector<int> missing);
  std::unique_ptr<Checkpointer> MakeCheckpointer();
  TrainOptions OptionsOfGroup() const;
  std::chrono::milliseconds JoinDeadline() const;
  std::string GroupName(const std::string& name) const;
  std::chrono::milliseconds deadline() const { return std::chrono::seconds(options_.deadline); }

  const TaskEntry& entry_;
  const TrainOptions& options_;
  const std::vector<std::string> lines_;
  LaunchEnvironment environment_;
  const at::Device device_;
  const RunHooks hooks_;
  const Metrics metrics_;
  std::unique_ptr<StartWord> start_;
  std::shared_ptr<Communicator> group_;
  std::unique_ptr<StopSignals> signals_;
  std::unique_ptr<PeerSnapshots> kept_;
  std::unique_ptr<Parts> parts_;
  TrainSummary summary_;
  bool training_ = false;  // it was begun, and what throws is no fault in what all were told
  int groups_ = 0;         // that were tried to make after the first
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRAINING_RUN_H_
