// A bucket of gradients that travel in one all-reduce.
#ifndef HPC_TRAIN_BUCKETS_GRADIENT_BUCKET_H_
#define HPC_TRAIN_BUCKETS_GRADIENT_BUCKET_H_

#include <memory>
#include <string>
#include <vector>

#include "train/buckets/bucket.h"
#include "train/buckets/bucket_plan.h"
#include "train/buckets/compression.h"
#include "train/tensors/named_tensor.h"

namespace hpc::train {

// Returns what decides which parameters travel together: their sizes, types and devices.
std::vector<BucketItem> BucketItemsOf(const std::vector<NamedTensor>& parameters);

// Throws std::invalid_argument, as Bucket::Fill says, unless the parameter's gradient is dense and
// not part of a graph.
void CheckReducible(const NamedTensor& parameter);

// Keeps one buffer: the gradients one after the other, then a number for each that tells whether a
// rank has it. So a parameter that no rank uses is known without another message.
class GradientBucket : public Bucket {
 public:
  // `parameters` must be tensors of one type on one device.
  GradientBucket(std::vector<NamedTensor> parameters, const std::string& name,
                 const CompressionOptions& compression = {});

  void Fill(size_t place, double scale) override;
  void LeaveOut(size_t place) override;
  bool Has(size_t place) const override { return has_[place]; }
  bool Full() const override { return missing_ == 0; }
  void Launch(Communicator& group) override;
  void Advance(Communicator& group) override { sum_->Advance(group); }
  bool brief() const override { return sum_->brief(); }
  // Writes the sums into the parameters' gradients.
  void Finish() override;

 private:
  const std::vector<NamedTensor> parameters_;
  at::Tensor flat_;
  // The part of flat_ that counts, for each gradient, the ranks that have it.
  at::Tensor used_;
  std::vector<bool> has_;         // whether each was filled or left out
  std::vector<float> used_here_;  // 1: this rank has filled it
  std::vector<float> used_before_;
  at::Tensor used_there_;  // the same, on the device
  size_t missing_;
  std::unique_ptr<BucketSum> sum_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_BUCKETS_GRADIENT_BUCKET_H_
