// Gradients that take fewer bytes on the way.
#ifndef HPC_TRAIN_COMPRESSION_H_
#define HPC_TRAIN_COMPRESSION_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

#include "train/communicator.h"

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

// How one buffer becomes its sum over the ranks. Begin, Advance and Finish are called in turn, by
// all ranks in the same order among all buffers. Each rank's result has the same bits.
class BucketSum {
 public:
  virtual ~BucketSum() = default;

  // Sends what can be sent at once. The buffer may not be touched from here to the end of Finish.
  virtual void Begin(Communicator& group) = 0;
  // Sends what depends on what has come; waits for that.
  virtual void Advance(Communicator&) {}
  // The buffer is the sum now.
  virtual void Finish() = 0;
};

// `flat` is the buffer; `views` are the gradients in it, in their shapes. What is in it beside them
// is never compressed by PowerSGD. `name` is that of its messages.
//
// PowerSGD (Vogels et al., 2019) keeps for each gradient that is a matrix, or can be seen as one,
// what its compression has left out on this rank, and adds it to the next one: so nothing is lost,
// but late. It takes as much memory as the gradients; a restart forgets it. Two messages a buffer
// in place of one.
std::unique_ptr<BucketSum> MakeBucketSum(const CompressionOptions& options, at::Tensor flat,
                                         std::vector<at::Tensor> views, std::string name);

}  // namespace hpc::train

#endif  // HPC_TRAIN_COMPRESSION_H_
