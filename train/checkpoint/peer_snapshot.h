// Training as it was some steps ago, in the memory of the ranks: what those that are left go on
// from when others go, without a disk.
//
//     hpc::train::PeerSnapshots kept;                       // outlives groups
//     if (step % 50 == 0) kept.Keep({.step = step}, subject, *group);
//     ...
//     // In the group of those that are left, with a model and an optimizer made anew:
//     if (kept.FindNewest(*group)) step = kept.Restore(subject, *group).step;
//
// Each rank keeps the parameters, rank 0's buffers, its own slices of the optimizer's states and
// those of the rank before it. So all is there as long as no two ranks that follow each other go
// (the first follows the last). Two snapshots are kept: one is whole on all ranks while the next is
// made, and where some ranks have one more than others, the last that all have is taken.
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

// Used from one thread. Keep, FindNewest and Restore are collectives, with the same steps on all
// ranks; they throw CollectiveError.
class PeerSnapshots {
 public:
  // Copies it into this PC's memory: of P bytes of parameters, B of buffers and S of states of all
  // N ranks, P + B + 2 S / N, twice with the snapshot before it. S / N are sent and B are
  // broadcast. Where each rank has all states (ShardedOptimizer::whole()), P + B + S, and nothing
  // but B is sent: each rank goes on from its own.
  void Keep(const Progress& progress, const CheckpointSubject& subject, Communicator& group);

  // The step of the newest that the ranks of `group` have all of together; none if there is none.
  // All of them were in the group that kept it.
  std::optional<int64_t> FindNewest(Communicator& group);
  // Why a newer one was passed over by FindNewest, or all that there are. Empty: none was.
  const std::string& passed_over() const { return passed_over_; }

  // What FindNewest found, into a subject of the same model and optimizer, whose states may be
  // shared out anew. Only that one is kept then. Bit for bit what Load would have made of a
  // checkpoint.
  Progress Restore(const CheckpointSubject& subject, Communicator& group);
  // By how many ranks, what FindNewest found.
  int ranks() const;

  // Since training went on from something else.
  void Forget() { kept_.clear(); }

  size_t Bytes() const;  // of this rank

 private:
  struct Snapshot {
    Progress progress;
    std::vector<int> numbers;  // of the ranks of its group
    bool whole = false;        // each rank has all states
    at::Tensor parameters, buffers;
    std::map<int, at::Tensor> states;  // by rank of its group
  };

  static void CopyStatesOfNeighbour(Snapshot* snapshot, Communicator& group);
  static std::string Describe(const Snapshot& snapshot);
  at::Tensor StatesOf(int rank, Communicator& group) const;

  std::deque<Snapshot> kept_;  // two at most, the older first
  std::optional<size_t> found_;
  std::vector<std::vector<int>> holders_;  // of what was found, by rank of its group
  std::string passed_over_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_PEER_SNAPSHOT_H_
