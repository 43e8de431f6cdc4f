// A training's state as it was some steps ago, in the memory of the ranks. When ranks are lost,
// those that are left go on from it, without a disk.
//
//     hpc::train::PeerSnapshots kept;                       // outlives groups
//     if (step % 50 == 0) kept.Keep({.step = step}, subject, *group);
//     ...
//     // In the group of those that are left, with a model and an optimizer made anew:
//     if (kept.FindNewest(*group)) step = kept.Restore(subject, *group).step;
//
// Each rank keeps the parameters, rank 0's buffers, its own slices of the optimizer's states, and
// those of the rank before it. So everything is there as long as no two neighbouring ranks are lost
// (the first rank follows the last). Two snapshots are kept, so that one is whole on all ranks
// while the next is made. If only some ranks have the newer one, the last one that all ranks have
// is taken.
#ifndef HPC_TRAIN_CHECKPOINT_PEER_SNAPSHOT_H_
#define HPC_TRAIN_CHECKPOINT_PEER_SNAPSHOT_H_

#include <ATen/core/Tensor.h>

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint/checkpointer.h"
#include "train/group/communicator.h"

namespace hpc::train {

// Must be used from one thread. Keep, FindNewest and Restore are collectives, with the same steps
// on all ranks. They throw CollectiveError.
class PeerSnapshots {
 public:
  // Copies the state into this PC's memory. Let P be the bytes of parameters, B those of buffers,
  // and S those of all N ranks' states. A snapshot takes P + B + 2 S / N, and there are two of
  // them. S / N are sent and B are broadcast. Where each rank has all states
  // (ShardedOptimizer::whole()), it takes P + B + S, and only B is sent: each rank goes on from its
  // own.
  void Keep(const Progress& progress, const CheckpointSubject& subject, Communicator& group);

  // Returns the step of the newest snapshot that the ranks of `group` have completely between them,
  // or none. All of these ranks were in the group that kept it.
  std::optional<int64_t> FindNewest(Communicator& group);
  // Says why FindNewest passed over a newer snapshot, or over all of them. Empty: it passed over
  // none.
  const std::string& passed_over() const { return passed_over_; }

  // Loads what FindNewest found into a subject of the same model and optimizer, whose states may be
  // divided differently. Only that snapshot is kept then. The result is bit for bit what Load would
  // have made of a checkpoint.
  Progress Restore(const CheckpointSubject& subject, Communicator& group);
  // Returns how many ranks kept what FindNewest found.
  int ranks() const;

  // Must be called when training has gone on from something else.
  void Forget() { kept_.clear(); }

  size_t Bytes() const;  // those of this rank

 private:
  struct Snapshot {
    Progress progress;
    std::vector<int> numbers;  // the numbers of the ranks of its group
    bool whole = false;        // whether each rank has all states
    at::Tensor parameters, buffers;
    std::map<int, at::Tensor> states;  // by rank of its group
  };

  static void CopyStatesOfNeighbour(Snapshot* snapshot, Communicator& group);
  static std::string Describe(const Snapshot& snapshot);
  at::Tensor StatesOf(int rank, Communicator& group) const;

  std::deque<Snapshot> kept_;  // at most two, the older first
  std::optional<size_t> found_;
  std::vector<std::vector<int>> holders_;  // for the snapshot that was found, by rank of its group
  std::string passed_over_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_PEER_SNAPSHOT_H_
