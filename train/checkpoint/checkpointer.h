// Saves and loads training: parameters, buffers, the optimizer's states and how far it came.
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
// of ranks than wrote it. Ranks may have one folder, each their own, or some of both: that is found
// out. Each folder has all of every checkpoint, so that any PC that is left can go on; where there
// are several, ranks send each other what their folders lack.
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
  std::string folder;  // is made if it is not there
  std::string run;     // a name, for who reads the manifest
  KeepPolicy keep;
  // The same on all ranks, and on those that are left of them: environment.start. Empty: this
  // process alone is known as who has the folder already.
  std::string start;
  int restarts = 0;  // of the run, before this attempt
};

// How far training came.
struct Progress {
  int64_t step = 0;  // of the next one, say; names the checkpoint
  std::optional<double> metric;
  std::map<std::string, std::string> values;  // anything else; rank 0's are kept
};

struct CheckpointSubject {
  // Names that share a tensor are saved once, by the first. Rank 0's are saved.
  std::vector<NamedTensor> parameters, buffers;
  // None: no states. If each rank has one of its own (whole()), rank 0's are saved.
  ShardedOptimizer* optimizer = nullptr;
};

// Used from one thread. All methods but saved() are called by all ranks alike.
class Checkpointer {
 public:
  // `background` is another group of the same ranks, of CPU tensors, which nobody else uses: what
  // is written beside training is sent there. Throws CheckpointError, on all ranks, that names the
  // rank whose folder cannot be made, or is that of another training (folder_lock.h).
  Checkpointer(const CheckpointOptions& options, std::shared_ptr<Communicator> group,
               std::shared_ptr<Communicator> background);
  // Waits for what is being written, and lets go of the folder.
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Copies what this rank has to write, and returns; a thread of its own does the rest. Waits for
  // the one before, and throws what became of that, as Wait does: then nothing is begun. One of the
  // same step that is there already is removed before it is written again.
  void Save(const Progress& progress, const CheckpointSubject& subject);

  // Until what was begun is whole. Throws CheckpointError, on all ranks, that names the rank which
  // could not write and why; what was whole before still is. CollectiveError: a rank is missing.
  void Wait();

  // Not empty: why another training in a folder would not be noticed, with the rank. One line.
  const std::string& warning() const { return warning_; }

  // The step of the newest that is whole, of those saved here. From any thread.
  std::optional<int64_t> saved() const;

  // The step of the newest in any folder that has a manifest: what Load takes, unless it is torn.
  std::optional<int64_t> NewestStep() const;

  struct Loaded {
    Progress progress;
    std::string run;
    int world = 1;  // ranks that wrote it
    // Why newer ones were passed over: one line each, of this rank's folder.
    std::vector<std::string> passed_over;
  };
  // The newest checkpoint that is whole in any folder, which all hashes are held against; none if
  // there are none at all. Throws CheckpointError, on all ranks: all that there are are torn; it is
  // of another model (names the first parameter that differs) or optimizer, or of a newer format.
  // Nothing is changed then.
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
  std::unique_ptr<FolderLock> lock_;  // of the first rank that has the folder
  std::string warning_;
  std::thread writer_;
  std::exception_ptr failed_;  // of the writer's thread, until it was joined
  std::set<int64_t> torn_;     // in this rank's folder, as Load found
  std::atomic<int64_t> saved_{-1};
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_CHECKPOINTER_H_
