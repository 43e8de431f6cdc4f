#include "train/tensors/tensor_check.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <stdexcept>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace hpc::train {

std::string TypeAndSize(const at::Tensor& tensor) {
  return absl::StrCat(absl::AsciiStrToLower(c10::toString(tensor.scalar_type())), "[",
                      tensor.numel(), "]");
}

void CheckTensor(const at::Tensor& tensor, const std::string& operation) {
  if (!tensor.defined()) throw std::invalid_argument(operation + ": the tensor is undefined");
  if (tensor.layout() != c10::kStrided || !tensor.is_contiguous()) {
    throw std::invalid_argument(
        absl::StrCat(operation, ": ", TypeAndSize(tensor),
                     " is not dense and contiguous; .contiguous() makes it"));
  }
}

void CheckSummable(const at::Tensor& tensor, const std::string& operation) {
  static const std::set<c10::ScalarType> known = {c10::kFloat,    c10::kDouble, c10::kHalf,
                                                  c10::kBFloat16, c10::kChar,   c10::kByte,
                                                  c10::kBool,     c10::kInt,    c10::kLong};
  if (known.count(tensor.scalar_type()) != 0) return;
  throw std::invalid_argument(absl::StrCat(
      operation, ": ", TypeAndSize(tensor),
      "; what is reduced is float, double, half, bfloat16, int8, uint8, int32 or int64"));
}

void CheckOnCpu(const at::Tensor& tensor, const std::string& operation) {
  if (tensor.device().is_cpu()) return;
  throw std::invalid_argument(absl::StrCat(operation, ": ", TypeAndSize(tensor), " on ",
                                           tensor.device().str(),
                                           "; Gloo takes tensors of the CPU"));
}

void CheckParts(const at::Tensor& whole, const at::Tensor& part, int times,
                const std::string& operation) {
  CheckTensor(whole, operation);
  CheckTensor(part, operation);
  if (whole.scalar_type() != part.scalar_type() || whole.device() != part.device() ||
      whole.numel() != part.numel() * times) {
    throw std::invalid_argument(absl::StrCat(operation, ": ", TypeAndSize(whole), " is not ", times,
                                             " x ", TypeAndSize(part), " on one device"));
  }
}

void CheckBytes(const at::Tensor& tensor, const std::vector<int64_t>& counts, int ranks,
                const std::string& operation) {
  CheckTensor(tensor, operation);
  const int64_t sum = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  const bool negative = std::any_of(counts.begin(), counts.end(), [](int64_t n) { return n < 0; });
  if (tensor.scalar_type() == at::kByte && tensor.device().is_cpu() && tensor.numel() == sum &&
      counts.size() == static_cast<size_t>(ranks) && !negative) {
    return;
  }
  throw std::invalid_argument(absl::StrCat(
      operation, ": ", TypeAndSize(tensor), " on ", tensor.device().str(), " is not ",
      counts.size(), " parts of ", sum, " bytes together on the CPU, for ", ranks, " ranks"));
}

void CheckRoot(int root, int size, const std::string& operation) {
  if (root >= 0 && root < size) return;
  throw std::invalid_argument(
      absl::StrCat(operation, ": there is no rank ", root, " among ", size));
}

}  // namespace hpc::train
