#include "train/checkpoint/safetensors_tensors.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace hpc::train {
namespace {

constexpr std::pair<absl::string_view, at::ScalarType> kScalarTypes[] = {
    {"BOOL", at::kBool},
    {"U8", at::kByte},
    {"I8", at::kChar},
    {"F8_E4M3", at::kFloat8_e4m3fn},
    {"F8_E5M2", at::kFloat8_e5m2},
    {"U16", at::kUInt16},
    {"I16", at::kShort},
    {"F16", at::kHalf},
    {"BF16", at::kBFloat16},
    {"U32", at::kUInt32},
    {"I32", at::kInt},
    {"F32", at::kFloat},
    {"U64", at::kUInt64},
    {"I64", at::kLong},
    {"F64", at::kDouble},
    {"C64", at::kComplexFloat},
};

at::Tensor CopyOnCpu(const at::Tensor& tensor) {
  at::NoGradGuard no_grad;
  at::Tensor copy = at::empty(tensor.sizes(), at::TensorOptions(tensor.scalar_type()));
  return copy.copy_(tensor);
}

}  // namespace

std::string SafetensorsTypeOf(at::ScalarType type) {
  for (const auto& [name, scalar] : kScalarTypes) {
    if (scalar == type) return std::string(name);
  }
  throw SafetensorsError(
      absl::StrCat("a safetensors file has no tensors of ", c10::toString(type)));
}

at::ScalarType ScalarTypeOf(absl::string_view dtype) {
  for (const auto& [name, scalar] : kScalarTypes) {
    if (name == dtype) return scalar;
  }
  throw SafetensorsError(absl::StrCat("LibTorch has no tensors of ", dtype));
}

at::Tensor ReadTensor(const SafetensorsFile& file, const SafetensorsTensor& tensor) {
  at::Tensor read = at::empty(tensor.shape, at::TensorOptions(ScalarTypeOf(tensor.dtype)));
  const absl::string_view bytes = file.Bytes(tensor);
  if (!bytes.empty()) std::memcpy(read.data_ptr(), bytes.data(), bytes.size());
  return read;
}

SafetensorsSnapshot::SafetensorsSnapshot(const std::vector<NamedTensor>& tensors,
                                         std::map<std::string, std::string> metadata) {
  // The package sorts in the same way: so each tensor is at a multiple of its element's size.
  std::vector<NamedTensor> sorted = tensors;
  std::stable_sort(sorted.begin(), sorted.end(), [](const NamedTensor& a, const NamedTensor& b) {
    return a.tensor.element_size() > b.tensor.element_size();
  });
  header_.metadata = std::move(metadata);
  for (const NamedTensor& one : sorted) {
    header_.tensors.push_back({.name = one.name,
                               .dtype = SafetensorsTypeOf(one.tensor.scalar_type()),
                               .shape = one.tensor.sizes().vec()});
    copies_.push_back(CopyOnCpu(one.tensor));
  }
  begin_ = EncodeSafetensorsHeader(&header_);
}

std::vector<absl::string_view> SafetensorsSnapshot::Pieces() const {
  std::vector<absl::string_view> pieces = {begin_};
  for (const at::Tensor& one : copies_) {
    pieces.emplace_back(static_cast<const char*>(one.data_ptr()), one.nbytes());
  }
  return pieces;
}

}  // namespace hpc::train
