// Gradients that travel together, however they travel: all of them to all ranks
// (gradient_bucket.h), or to each rank those of its shard (sharded_bucket.h).
#ifndef HPC_TRAIN_BUCKETS_BUCKET_H_
#define HPC_TRAIN_BUCKETS_BUCKET_H_

#include <cstddef>

#include "train/group/communicator.h"

namespace hpc::train {

// Not thread-safe.
class Bucket {
 public:
  virtual ~Bucket() = default;

  // Takes the gradient of one parameter, by its place, times `scale`; again: all that there is of
  // it by then. Throws std::invalid_argument that names the parameter if its gradient is sparse, or
  // part of a graph itself (create_graph).
  virtual void Fill(size_t place, double scale) = 0;
  // Nothing of this one: zeros.
  virtual void LeaveOut(size_t place) = 0;

  // Was filled or left out.
  virtual bool Has(size_t place) const = 0;
  // All have been.
  virtual bool Full() const = 0;

  virtual void Launch(Communicator& group) = 0;
  // Between Launch and Finish, in the same order among buckets on all ranks: sends what depends on
  // what has come, where gradients are compressed so.
  virtual void Advance(Communicator&) {}
  // Between Launch and Finish: what is under way is so short that waiting for it costs nothing.
  virtual bool brief() const { return false; }

  // Waits, leaves the means where they belong and is empty again.
  virtual void Finish() = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_BUCKETS_BUCKET_H_
