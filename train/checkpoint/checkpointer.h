// Saves and loads a training: parameters, buffers, the optimizer's states, and how far it came.
//
//     hpc::train::Checkpointer checkpoints({.folder = hooks.checkpoint_dir}, group,
//         hpc::train::MakeGlooCommunicator(environment, {.group = "checkpoints"}));
//     const hpc::train::CheckpointSubject all = {hpc::train::Named(net->named_parameters()),
//                                                hpc::train::Named(net->named_buffers()),
//                                                &optimizer};
//     int64_t step = 0;
//     if (auto loaded = checkpoints.Load(all)) step = loaded->progress.step;
//     for (; step < steps; ++step) {
//       ...
//       if (step % 100 == 99) checkpoints.Save({.step = step + 1, .metric = loss}, all);
//     }
//     checkpoints.Wait();
//
// A checkpoint is whole or not there (checkpoint_manifest.h), and may be loaded by another number
// of ranks than wrote it. The ranks may have one folder, or each its own, or some of both; the
// checkpointer finds out which. Each folder has all of every checkpoint, so that any PC that is
// left can go on. Where there are several folders, ranks send each other what their folders lack.
#ifndef HPC_TRAIN_CHECKPOINT_CHECKPOINTER_H_
#define HPC_TRAIN_CHECKPOINT_CHECKPOINTER_H_

#include <atomic>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "train/checkpoint/checkpoint_files.h"
#include "train/checkpoint/folder_lock.h"
#include "train/checkpoint/safetensors_tensors.h"
#include "train/group/communicator.h"
#include "train/sharded/sharded_optimizer.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

struct CheckpointOptions {
  std::string folder;  // made if it is not there
  std::string run;     // a name for readers of the manifest
  KeepPolicy keep;
  // environment.start. It is the same on all ranks, and stays so on those that are left. If empty,
  // the folder's lock is in the name of this process alone.
  std::string start;
  int restarts = 0;  // how many attempts of the run came before this one
};

// How far training has come.
struct Progress {
  int64_t step = 0;  // the next step, for example; names the checkpoint
  std::optional<double> metric;
  std::map<std::string, std::string> values;  // anything else; rank 0's values are kept
};

struct CheckpointSubject {
  // A tensor with several names is saved once, by its first name. Rank 0's values are saved.
  std::vector<NamedTensor> parameters, buffers;
  // None: no states are saved. If each rank has an optimizer of its own (whole()), rank 0's states
  // are saved.
  ShardedOptimizer* optimizer = nullptr;
};

// Must be used from one thread. All ranks must call all methods alike, except saved().
class Checkpointer {
 public:
  // `background` is another group of the same ranks, for CPU tensors, which nobody else uses. Files
  // are sent over it while training goes on. Throws CheckpointError, on all ranks, that names a
  // rank whose folder cannot be made, or belongs to another training (folder_lock.h).
  Checkpointer(const CheckpointOptions& options, std::shared_ptr<Communicator> group,
               std::shared_ptr<Communicator> background);
  // Waits for what is being written, and releases the folder.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Copies what this rank has to write, and returns; a thread of its own does the rest. First waits
  // for the save before, and throws its error, as Wait does; then nothing new is begun. A
  // checkpoint of the same step that is there already is removed before it is written again.
  void Save(const Progress& progress, const CheckpointSubject& subject);

  // Waits until what was begun is whole. Throws CheckpointError, on all ranks, that names the rank
  // which could not write and why; checkpoints that were whole before stay whole. CollectiveError:
  // a rank is missing.
  void Wait();

  // If not empty, one line that says why another training in a folder would not be noticed, with
  // the rank.
  const std::string& warning() const { return warning_; }

  // Returns the step of the newest whole checkpoint that was saved here. May be called from any
  // thread.
  std::optional<int64_t> saved() const;

  // Returns the step of the newest checkpoint in any folder that has a manifest. Load takes it,
  // unless it is torn.
  std::optional<int64_t> NewestStep() const;

  struct Loaded {
    Progress progress;
    std::string run;
    int world = 1;  // how many ranks wrote it
    // Says why newer ones in this rank's folder were passed over, one line each.
    std::vector<std::string> passed_over;
  };
  // Loads the newest checkpoint that is whole in any folder. All hashes are checked. Returns none
  // if there are no checkpoints at all. Throws CheckpointError, on all ranks: all checkpoints are
  // torn; or it is of another model (the first parameter that differs is named) or optimizer, or of
  // a newer format. Nothing is changed after an error.
  std::optional<Loaded> Load(const CheckpointSubject& subject);

 private:
  struct Job;
  struct Newest;

  std::vector<int> FindFolders() const;
  void TakeFolders();
  bool IsHome() const { return homes_[group_->rank()] == group_->rank(); }
  void Write(Job* job);
  std::vector<CheckpointFile> WriteFiles(Job* job);
  void Prune();
  Newest FindNewest() const;
  void Fetch(int64_t step, int source, const std::vector<int>& lacking);

  const CheckpointOptions options_;
  const std::shared_ptr<Communicator> group_, background_;
  const std::vector<int> homes_;      // by rank: the lowest rank that has the same folder
  std::unique_ptr<FolderLock> lock_;  // held by the first rank that has the folder
  std::string warning_;
  std::thread writer_;
  std::exception_ptr failed_;  // belongs to the writer's thread until it was joined
  std::set<int64_t> torn_;     // in this rank's folder, as Load has found it
  std::atomic<int64_t> saved_{-1};
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_CHECKPOINTER_H_
