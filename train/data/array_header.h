// What the headers of array files say: `.npy` (numpy.save) and IDX (the files of MNIST). Pure.
#ifndef HPC_TRAIN_DATA_ARRAY_HEADER_H_
#define HPC_TRAIN_DATA_ARRAY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::train {

enum class ElementType {
  kBool,
  kUint8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kFloat32,
  kFloat64
};

size_t SizeOf(ElementType type);
std::string NameOf(ElementType type);  // as numpy calls it: "float32"

struct ArrayHeader {
  ElementType type = ElementType::kUint8;
  std::vector<int64_t> shape;  // none is negative, and their product times SizeOf(type) fits
  size_t offset = 0;           // of the first element in the file
  bool swapped = false;        // elements are big-endian
};

// Of the elements, in bytes.
size_t BytesOf(const ArrayHeader& header);

// `file` is all of it, `name` what errors call it. Throws DataError: no such file, a type or order
// of elements that is not read here, or fewer bytes than the header promises (truncated). More
// bytes than it promises are an error too: something else is in the file.
ArrayHeader ParseNpy(const std::string& name, absl::string_view file);
ArrayHeader ParseIdx(const std::string& name, absl::string_view file);

// Which of them a file is, by its first bytes.
bool LooksLikeNpy(absl::string_view file);
bool LooksLikeIdx(absl::string_view file);

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_ARRAY_HEADER_H_
