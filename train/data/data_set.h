// What a model is trained on: samples by number.
#ifndef HPC_TRAIN_DATA_DATA_SET_H_
#define HPC_TRAIN_DATA_DATA_SET_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace hpc::train {

// Several samples: tensors (images, labels ...) whose first dimension is that of the samples.
using Batch = std::vector<at::Tensor>;

// On a GPU it is there behind what is queued by now, without being waited for.
Batch OnDevice(Batch batch, at::Device device);

// Immutable. Get is called from several threads at the same time.
class DataSet {
 public:
  virtual ~DataSet() = default;

  virtual int64_t size() const = 0;

  // These samples, in this order, as new tensors on the CPU. Indices are of 0 to size() - 1, at
  // least one.
  virtual Batch Get(const std::vector<int64_t>& indices) const = 0;

  // One line that differs, most likely, where the data differ: ranks compare it.
  virtual std::string Fingerprint() const = 0;
};

// Arrays side by side: sample i is row i of each.
class ArrayDataSet : public DataSet {
 public:
  // At least one, contiguous, on the CPU; each has the same number of rows, else
  // std::invalid_argument. Only `rows` of them are the set; empty: all.
  explicit ArrayDataSet(std::vector<at::Tensor> arrays, std::vector<int64_t> rows = {});

  int64_t size() const override;
  Batch Get(const std::vector<int64_t>& indices) const override;
  std::string Fingerprint() const override;

 private:
  const std::vector<at::Tensor> arrays_;
  const std::vector<int64_t> rows_;
};

// "uint8[1797, 8, 8] 0f3a...": type, shape and a hash of at most 64 parts of 4 KiB of what is in
// it.
std::string FingerprintOf(const at::Tensor& array);

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_DATA_SET_H_
