// The samples that a model is trained on, by number.
#ifndef HPC_TRAIN_DATA_DATA_SET_H_
#define HPC_TRAIN_DATA_DATA_SET_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace hpc::train {

// Several samples: tensors (images, labels ...) whose first dimension counts the samples.
using Batch = std::vector<at::Tensor>;

// Returns the batch on `device`. On a GPU the copy is queued after what is queued by now, and
// nobody waits for it.
Batch OnDevice(Batch batch, at::Device device);

// Immutable. Get is called by several threads at the same time.
class DataSet {
 public:
  virtual ~DataSet() = default;

  virtual int64_t size() const = 0;

  // Returns these samples, in this order, as new tensors on the CPU. There is at least one index,
  // and all are from 0 to size() - 1.
  virtual Batch Get(const std::vector<int64_t>& indices) const = 0;

  // Returns one line that almost certainly differs where the data differ. Ranks compare it.
  virtual std::string Fingerprint() const = 0;
};

// Arrays side by side: sample i is row i of each array.
class ArrayDataSet : public DataSet {
 public:
  // Takes at least one array. They must be contiguous, on the CPU, and have the same number of
  // rows, else std::invalid_argument. The set has only `rows` of them; empty: all.
  explicit ArrayDataSet(std::vector<at::Tensor> arrays, std::vector<int64_t> rows = {});

  int64_t size() const override;
  Batch Get(const std::vector<int64_t>& indices) const override;
  std::string Fingerprint() const override;

 private:
  const std::vector<at::Tensor> arrays_;
  const std::vector<int64_t> rows_;
};

// Returns "uint8[1797, 8, 8] 0f3a...": type, shape, and a hash of at most 64 parts of 4 KiB of its
// content.
std::string FingerprintOf(const at::Tensor& array);

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_DATA_SET_H_
