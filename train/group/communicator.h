// The operations that ranks do together. One interface covers Gloo (CPU tensors), NCCL (CUDA
// tensors) and one rank alone.
//
// All ranks of a group call the same operations, in the same order, with tensors of the same type,
// size and kind of device. Every operation is asynchronous: it returns at once, and its tensors may
// be neither read, written nor resized before Pending::Wait has returned. Operations are carried
// out in order of their calls, except that several may be under way at once.
//
// Every operation has a deadline, counted from its call. A group that has failed once is dead:
// every operation under way, and every later one, throws the same CollectiveError on all ranks that
// live. That happens at the latest kAnswerTime x 2 (rank_watch.h) after the deadline of the rank
// that saw the failure first. The content of tensors of a failed operation is undefined. To go on,
// make a new group of the ranks that are left.
//
// train/ throws, unlike the rest of the project. The hook of a gradient has no other way to report
// to the caller of backward(), and LibTorch itself throws.
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

// Says that the group is dead. what() is one line that names the collective, the missing ranks and
// why they are missing.
class CollectiveError : public std::runtime_error {
 public:
  CollectiveError(std::vector<int> missing, const std::string& what)
      : std::runtime_error(what), missing_(std::move(missing)) {}

  // Returns the ranks without which the group cannot go on, in order. It is empty if none is to
  // blame, as when the network is too slow for the deadline.
  const std::vector<int>& missing() const { return missing_; }

 private:
  std::vector<int> missing_;
};

enum class ReduceOp { kSum, kMin, kMax };

// An operation under way. Not thread-safe. It may outlive its Communicator, and may be dropped
// without a Wait.
class Pending {
 public:
  virtual ~Pending() = default;

  // Returns when the operation is done and its outputs may be used. Outputs on a GPU may then be
  // used by what the calling thread gives its current stream from then on
  // (nccl/nccl_communicator.h). Throws CollectiveError. Further calls have the same result as the
  // first.
  virtual void Wait() = 0;
};
using PendingPtr = std::unique_ptr<Pending>;

// Thread-safe. But the order of calls decides which operations of the ranks belong together, so
// call from one thread, or under one lock.
//
// Tensors must be dense, contiguous and on the communicator's device (a communicator for GPUs also
// takes tensors of the CPU). If not, std::invalid_argument is thrown on this rank before anything
// is sent. `name` says in errors what the operation is for ("gradients 2"), and must be the same on
// all ranks. Ranks that enter different operations are found out at the deadline. Tensors of
// different sizes in one operation are not found out: Gloo ends the process that is sent too much,
// and what NCCL does is undefined.
class Communicator {
 public:
  struct Options {
    std::string name;
    std::optional<std::chrono::milliseconds> deadline;  // unset: the group's
  };

  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Returns the number that the launcher gave the rank; errors name it by that. The two differ in a
  // group of the ranks that are left of a larger one.
  virtual int NumberOf(int rank) const { return rank; }

  // Returns the ranks whose process ended without leaving the group, as far as is known. It works
  // after the group's death, too, whatever killed it. May be called from any thread.
  virtual std::vector<int> Gone() const { return {}; }

  // In place: `tensor` becomes the sum (minimum, maximum) over the ranks, element by element, with
  // the same bits on all of them. This and ReduceScatter take float, double, half, bfloat16, int8,
  // uint8, int32 and int64; the others take any type.
  virtual PendingPtr AllReduce(at::Tensor tensor, ReduceOp op, Options options) = 0;

  // `input` has size() x as many elements as `output`. Rank r's `output` becomes the sum over the
  // ranks of their inputs' r-th part.
  virtual PendingPtr ReduceScatter(at::Tensor output, at::Tensor input, ReduceOp op,
                                   Options options) = 0;

  // `output` has size() x as many elements as `input`: those of rank 0, then those of rank 1 ...
  virtual PendingPtr AllGather(at::Tensor output, at::Tensor input, Options options) = 0;

  // Sends each rank its part of `input` and collects this rank's parts in `output`. The part for
  // rank r has `input_counts[r]` bytes. `output` has `output_counts[r]` bytes from rank r, in the
  // order of ranks. The tensors must be of bytes, on the CPU. For an empty part nothing but a few
  // bytes is sent.
  virtual PendingPtr AllToAll(at::Tensor output, std::vector<int64_t> output_counts,
                              at::Tensor input, std::vector<int64_t> input_counts,
                              Options options) = 0;

  // In place: `tensor` becomes that of rank `root`.
  virtual PendingPtr Broadcast(at::Tensor tensor, int root, Options options) = 0;

  // Is done when every rank has entered it.
  virtual PendingPtr Barrier(Options options) = 0;

  // Ends the group for all ranks: operations under way anywhere throw a CollectiveError with
  // `reason` ("out of memory"), at once. May be called from any thread, and returns within
  // kAnswerTime. Does nothing if the group is dead already.
  virtual void Abort(const std::string& reason) = 0;

  // Does the same for what all ranks find alike, such as a loss that is infinite. The
  // CollectiveError names nobody as missing, so that the ranks which hear of it first do not go on
  // without this rank.
  virtual void AbortForAll(const std::string& reason) = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_COMMUNICATOR_H_
