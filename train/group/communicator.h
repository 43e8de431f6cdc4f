// What ranks do together: one interface over Gloo (CPU tensors), NCCL (CUDA tensors) and one rank
// alone.
//
// All ranks of a group call the same operations, in the same order, with tensors of the same type,
// size and kind of device. Every operation is asynchronous: it returns at once, and its tensors may
// be neither read, written nor resized before Pending::Wait has returned. Operations are carried
// out in order of their calls, except that several may be under way at once.
//
// Every operation has a deadline, from its call. A group that has failed once is dead: each
// operation under way, and every later one, throws the same CollectiveError, on all ranks that
// live, at the latest kAnswerTime x 2 (rank_watch.h) after the deadline of the rank that saw it
// first. What tensors of a failed operation hold is undefined. To go on, make a new group of those
// that are left.
//
// train/ throws, unlike the rest of the project: a gradient's hook has no other way to report to
// who called backward(), and LibTorch itself throws.
#ifndef HPC_TRAIN_GROUP_COMMUNICATOR_H_
#define HPC_TRAIN_GROUP_COMMUNICATOR_H_

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "train/group/verdict.h"

namespace hpc::train {

// The group is dead. what() is one line that names the collective, the missing ranks and why they
// are missing.
class CollectiveError : public std::runtime_error {
 public:
  CollectiveError(std::vector<int> missing, const std::string& what)
      : std::runtime_error(what), missing_(std::move(missing)) {}

  // Ranks without which the group cannot go on, in order. Empty if none is to blame, as when the
  // network is too slow for the deadline.
  const std::vector<int>& missing() const { return missing_; }

 private:
  std::vector<int> missing_;
};

enum class ReduceOp { kSum, kMin, kMax };

// An operation under way. Not thread-safe. May outlive its Communicator, and be dropped unwaited.
class Pending {
 public:
  virtual ~Pending() = default;

  // Returns when the operation is done and its outputs may be used; those on a GPU, by what the
  // calling thread gives its current stream from then on (nccl/nccl_communicator.h). Throws
  // CollectiveError. Again after the first time: the same.
  virtual void Wait() = 0;
};
using PendingPtr = std::unique_ptr<Pending>;

// Thread-safe, but it is the order of calls that matches operations of ranks: call from one thread,
// or under one lock.
//
// Tensors are dense, contiguous and on the communicator's device (one for GPUs takes those of the
// CPU too), else std::invalid_argument, on this rank before anything is sent. `name` says what for
// in errors ("gradients 2") and is the same on all ranks. Ranks that enter different operations are
// found out at the deadline. Tensors of different sizes in one operation are not: Gloo ends the
// process that is sent too much, and what NCCL does is undefined.
class Communicator {
 public:
  struct Options {
    std::string name;
    std::optional<std::chrono::milliseconds> deadline;  // else the group's
  };

  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // By which errors name a rank: the number that the launcher gave it, which is another one in a
  // group of those that are left of a larger one.
  virtual int NumberOf(int rank) const { return rank; }

  // Ranks whose process ended without leaving the group, as far as is known; after the group's
  // death too, whatever killed it. From any thread.
  virtual std::vector<int> Gone() const { return {}; }

  // In place: `tensor` becomes the sum (least, greatest) over the ranks, element by element, the
  // same bits on all of them. Of float, double, half, bfloat16, int8, uint8, int32 and int64, as
  // ReduceScatter; the others take any type.
  virtual PendingPtr AllReduce(at::Tensor tensor, ReduceOp op, Options options) = 0;

  // `input` has size() x as many elements as `output`. Rank r's `output` becomes the sum over the
  // ranks of their inputs' r-th part.
  virtual PendingPtr ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                   Options options) = 0;

  // `output` has size() x as many elements as `input`: those of rank 0, then those of rank 1 ...
  virtual PendingPtr AllGather(at::Tensor output, at::Tensor input, Options options) = 0;

  // Rank r gets the r-th part of `input`, which has `input_counts[r]` bytes, and `output` becomes
  // what the ranks have for this one, in their order, `output_counts[r]` bytes from rank r. Bytes
  // on the CPU alone. Nothing is sent where a part is empty but a few bytes.
  virtual PendingPtr AllToAll(at::Tensor output, std::vector<int64_t> output_counts,
                              at::Tensor input, std::vector<int64_t> input_counts,
                              Options options) = 0;

  // In place: `tensor` becomes that of rank `root`.
  virtual PendingPtr Broadcast(at::Tensor tensor, int root, Options options) = 0;

  // Done when every rank has entered it.
  virtual PendingPtr Barrier(Options options) = 0;

  // Ends the group for all ranks: what is under way anywhere throws a CollectiveError with `reason`
  // ("out of memory"), at once. From any thread; returns within kAnswerTime. Nothing happens if the
  // group is dead already.
  virtual void Abort(const std::string& reason) = 0;

  // The same, for what all ranks find alike, as a loss that is infinite: nobody is missing from the
  // CollectiveError, so that those which hear of it first do not go on without this rank.
  virtual void AbortForAll(const std::string& reason) = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_COMMUNICATOR_H_
