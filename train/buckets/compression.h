// Gradients that take fewer bytes on the way.
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
  kBf16,      // half the bytes of float; 8 bits of each number's digits
  kFp16,      // half the bytes of float; 11 bits, but what is beyond 65504 becomes infinite
  kPowerSgd,  // what a matrix of low rank holds of each gradient; the rest comes with later steps
};

// The same on all ranks.
struct CompressionOptions {
  Compression kind = Compression::kNone;
  int powersgd_rank = 2;
  int powersgd_after = 10;  // steps that are not compressed, in which gradients change fast
};

// "powersgd rank=2 after=10".
std::string Describe(const CompressionOptions& options);

// How what is in one buffer becomes its sum over the ranks. In each round the views are put, then
// Begin, Advance and Finish are called in turn, by all ranks in the same order among all buffers,
// then the sums are taken. Each rank's result has the same bits; with PowerSGD where the ranks'
// processors compute alike.
class BucketSum {
 public:
  explicit BucketSum(std::vector<at::Tensor> views) : views_(std::move(views)) {}
  virtual ~BucketSum() = default;

  // This rank's share of view `place` is `gradient`, which is read by the end of Begin at the
  // latest, times `scale`; or nothing. Again: in its place. Whoever writes into the buffer by other
  // means puts nothing.
  virtual void Put(size_t place, const at::Tensor& gradient, double scale);
  virtual void PutNothing(size_t place);

  // Sends what can be sent at once. The buffer may not be touched from here to the end of Finish.
  virtual void Begin(Communicator& group) = 0;
  // Sends what depends on what has come; waits for that.
  virtual void Advance(Communicator&) {}
  virtual void Finish() = 0;

  // After Finish: writes the sum of view `place`, of whose shape `to` is.
  virtual void Take(size_t place, const at::Tensor& to) const;

  // The messages of this round, once begun, are so short that it costs nothing to wait for them.
  virtual bool brief() const { return false; }

 protected:
  const std::vector<at::Tensor> views_;
};

// `flat` is the buffer; `views` are the gradients in it, in their shapes. What is in it beside them
// is never compressed by PowerSGD. `name` is that of its messages. But with PowerSGD, the buffer is
// the sum after Finish.
//
// PowerSGD (Vogels et al., 2019) keeps for each gradient that is a matrix, or can be seen as one,
// what its compression has left out on this rank, and adds it to the next one: so nothing is lost,
// but late. It is kept where the gradient's place in the buffer is; a restart forgets it. Two
// messages a buffer in place of one.
std::unique_ptr<BucketSum> MakeBucketSum(const CompressionOptions& options, at::Tensor flat,
                                         std::vector<at::Tensor> views, std::string name);

}  // namespace hpc::train

#endif  // HPC_TRAIN_BUCKETS_COMPRESSION_H_
