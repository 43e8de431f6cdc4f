// A bucket holds gradients that travel together. Either all of them go to all ranks
// (gradient_bucket.h), or each rank gets those of its shard (sharded_bucket.h).
#ifndef HPC_TRAIN_BUCKETS_BUCKET_H_
#define HPC_TRAIN_BUCKETS_BUCKET_H_

#include <cstddef>

#include "train/group/communicator.h"

namespace hpc::train {

// Not thread-safe.
class Bucket {
 public:
  virtual ~Bucket() = default;

  // Takes the gradient of one parameter, by its place, times `scale`. A second call for the same
  // parameter replaces the first: the gradient then holds all that there is by then. Throws
  // std::invalid_argument that names the parameter if its gradient is sparse, or part of a graph
  // itself (create_graph).
  virtual void Fill(size_t place, double scale) = 0;
  // Takes zeros in place of a gradient of this parameter.
  virtual void LeaveOut(size_t place) = 0;

  // Returns whether the parameter was filled or left out.
  virtual bool Has(size_t place) const = 0;
  // Returns whether this is so for all parameters.
  virtual bool Full() const = 0;

  virtual void Launch(Communicator& group) = 0;
  // Must be called between Launch and Finish, in the same order among buckets on all ranks. Some
  // ways of compression need a second message, which depends on the result of the first. This sends
  // it.
  virtual void Advance(Communicator&) {}
  // Returns, between Launch and Finish, whether the message under way is so short that waiting for
  // it costs nothing.
  virtual bool brief() const { return false; }

  // Waits, puts the means where they belong, and empties the bucket.
  virtual void Finish() = 0;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_BUCKETS_BUCKET_H_
