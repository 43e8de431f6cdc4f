#include "train/data/data_set.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <stdexcept>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "train/tensors/tensor_text.h"

namespace hpc::train {
namespace {

constexpr size_t kPart = 4096, kParts = 64;

uint64_t Fnv(const unsigned char* bytes, size_t size, uint64_t hash) {
  for (size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

}  // namespace

Batch OnDevice(Batch batch, at::Device device) {
  if (device.is_cpu()) return batch;
  for (at::Tensor& tensor : batch) tensor = tensor.to(device, /*non_blocking=*/true);
  return batch;
}

std::string FingerprintOf(const at::Tensor& array) {
  const auto* bytes = static_cast<const unsigned char*>(array.const_data_ptr());
  const size_t size = array.nbytes();
  const size_t stride = std::max(kPart, size / kParts);
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t at = 0; at < size; at += stride) {
    hash = Fnv(bytes + at, std::min(kPart, size - at), hash);
  }
  return absl::StrCat(TensorText(array), " ", absl::Hex(hash, absl::kZeroPad16));
}

ArrayDataSet::ArrayDataSet(std::vector<at::Tensor> arrays, std::vector<int64_t> rows)
    : arrays_(std::move(arrays)), rows_(std::move(rows)) {
  if (arrays_.empty()) throw std::invalid_argument("a data set needs an array");
  for (const at::Tensor& array : arrays_) {
    if (array.dim() == 0 || array.size(0) != arrays_[0].size(0)) {
      throw std::invalid_argument(absl::StrCat(
          "arrays of one data set have ", arrays_[0].dim() == 0 ? 0 : arrays_[0].size(0), " and ",
          array.dim() == 0 ? 0 : array.size(0), " rows"));
    }
  }
}

int64_t ArrayDataSet::size() const {
  return rows_.empty() ? arrays_[0].size(0) : static_cast<int64_t>(rows_.size());
}

Batch ArrayDataSet::Get(const std::vector<int64_t>& indices) const {
  at::Tensor which = at::empty({static_cast<int64_t>(indices.size())}, at::kLong);
  auto* numbers = which.data_ptr<int64_t>();
  for (size_t i = 0; i < indices.size(); ++i) {
    numbers[i] = rows_.empty() ? indices[i] : rows_.at(indices[i]);
  }
  Batch batch;
  for (const at::Tensor& array : arrays_) batch.push_back(at::index_select(array, 0, which));
  return batch;
}

std::string ArrayDataSet::Fingerprint() const {
  std::vector<std::string> parts;
  for (const at::Tensor& array : arrays_) parts.push_back(FingerprintOf(array));
  parts.push_back(absl::StrCat(size(), " samples"));
  return absl::StrJoin(parts, ", ");
}

}  // namespace hpc::train
