// Gradients that travel in one all-reduce.
#ifndef HPC_TRAIN_GRADIENT_BUCKET_H_
#define HPC_TRAIN_GRADIENT_BUCKET_H_

#include <string>
#include <vector>

#include "train/communicator.h"
#include "train/named_tensor.h"

namespace hpc::train {

// One buffer: the gradients one after the other, then for each whether a rank has it, so that what
// no rank uses is known without another message. Not thread-safe.
class GradientBucket {
 public:
  // Tensors of one type on one device.
  GradientBucket(std::vector<NamedTensor> parameters, std::string name);

  // Takes the gradient of one of them, by its place, times `scale`; again: in place of the one
  // before. Throws std::invalid_argument that names the parameter if its gradient is sparse, or
  // part of a graph itself (create_graph).
  void Fill(size_t place, double scale);
  // Nothing of this one: zeros.
  void LeaveOut(size_t place);

  // Was filled or left out.
  bool Has(size_t place) const { return has_[place]; }
  // All have been.
  bool Full() const { return missing_ == 0; }

  void Launch(Communicator& group);
  bool launched() const { return pending_ != nullptr; }

  // Waits, writes the sums into the parameters' gradients and is empty again.
  void Finish();

 private:
  const std::vector<NamedTensor> parameters_;
  const std::string name_;
  at::Tensor flat_;
  std::vector<at::Tensor> views_;  // of flat_, in the parameters' shapes
  at::Tensor used_;                // of flat_: by how many ranks
  std::vector<bool> has_;          // filled or left out
  std::vector<float> used_here_;   // 1: filled
  size_t missing_;
  PendingPtr pending_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_GRADIENT_BUCKET_H_
