// Ways to send gradients in fewer bytes.
#ifndef HPC_TRAIN_BUCKETS_COMPRESSION_H_
#define HPC_TRAIN_BUCKETS_COMPRESSION_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "train/group/communicator.h"

namespace hpc::train {

enum class Compression {
  kNone,
  kBf16,      // half the bytes of float; 8 significant bits
  kFp16,      // half the bytes of float; 11 significant bits, but infinite beyond 65504
  kPowerSgd,  // sends a low-rank part of each gradient; the rest comes with later steps
};

// All ranks must have the same options.
struct CompressionOptions {
  Compression kind = Compression::kNone;
  int powersgd_rank = 2;
  int powersgd_after = 10;  // this many first steps are not compressed, since gradients change fast
};

// Returns a text such as "powersgd rank=2 after=10".
std::string Describe(const CompressionOptions& options);

// Turns what is in one buffer into its sum over the ranks. In each round the views are put first.
// Then all ranks call Begin, Advance and Finish in turn, in the same order among all buffers. At
// last the sums are taken. The result has the same bits on each rank; with PowerSGD this needs
// ranks whose processors compute alike.
class BucketSum {
 public:
  explicit BucketSum(std::vector<at::Tensor> views) : views_(std::move(views)) {}
  virtual ~BucketSum() = default;

  // Sets this rank's share of view `place` to `gradient` times `scale`, or to nothing. `gradient`
  // is read by the end of Begin at the latest. A second call replaces the first. A caller that
  // writes into the buffer by other means must not call this.
  virtual void Put(size_t place, const at::Tensor& gradient, double scale);
  virtual void PutNothing(size_t place);

  // Sends what can be sent at once. The buffer must not be touched from here to the end of Finish.
  virtual void Begin(Communicator& group) = 0;
  // Waits for what has been sent, and sends what depends on its result.
  virtual void Advance(Communicator&) {}
  virtual void Finish() = 0;

  // Is called after Finish. Writes the sum of view `place` into `to`, which has the view's shape.
  virtual void Take(size_t place, const at::Tensor& to) const;

  // Returns whether the messages of this round, once begun, are so short that waiting costs
  // nothing.
  virtual bool brief() const { return false; }

 protected:
  const std::vector<at::Tensor> views_;
};

// Makes the sum for the buffer `flat`. `views` are the gradients in it, in their shapes. PowerSGD
// never compresses what the buffer holds beside them. `name` is the name of the messages. After
// Finish the buffer itself holds the sum, except with PowerSGD.
//
// PowerSGD (Vogels et al., 2019) works on gradients that are matrices, or can be seen as such. What
// its compression leaves out on this rank is kept, and added to the next gradient, so that nothing
// is lost, but comes late. It is kept at the gradient's place in the buffer, and a restart forgets
// it. Each buffer takes two messages in place of one.
std::unique_ptr<BucketSum> MakeBucketSum(const CompressionOptions& options, at::Tensor flat,
                                         std::vector<at::Tensor> views, std::string name);

}  // namespace hpc::train

#endif  // HPC_TRAIN_BUCKETS_COMPRESSION_H_
