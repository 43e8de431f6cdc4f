// Runs one rank's training from its first group of ranks to its last.
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

// Returns how long the ranks of a run have to come to its first group, if an operation has
// `deadline`. Programs do not start at the same moment, and nothing else notices one that dies at
// its start.
std::chrono::milliseconds StartDeadline(std::chrono::milliseconds deadline);

// Must be used from one thread.
class TrainingRun {
 public:
  // `lines` is what all ranks must have alike. `entry` and `options` must outlive this object.
  TrainingRun(const TaskEntry& entry, const TrainOptions& options, std::vector<std::string> lines,
              const LaunchEnvironment& environment, at::Device device);
  ~TrainingRun();

  // Trains to the end, or until it is stopped. If ranks go and options.min_ranks are left, those
  // make a new group and everything that uses it. They go on from the newest checkpoint, or from
  // what they keep in memory unless that is older. This may happen any number of times. Throws
  // CollectiveError if no group can be made, or none is wanted; what() says why. The others are
  // told of any other error.
  TrainSummary Run();

  // Returns the environment of the last group.
  const LaunchEnvironment& environment() const { return environment_; }

 private:
  struct Parts;  // everything that uses a group

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
  bool training_ = false;  // it has begun: an error is no longer one in what all were told
  int groups_ = 0;         // how many it tried to make after the first
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_PROGRAM_TRAINING_RUN_H_
