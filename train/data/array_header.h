// Reads the headers of array files: `.npy` (numpy.save) and IDX (the files of MNIST). Pure.
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
std::string NameOf(ElementType type);  // numpy's name, as "float32"

struct ArrayHeader {
  ElementType type = ElementType::kUint8;
  std::vector<int64_t> shape;  // none is negative, and their product times SizeOf(type) fits
  size_t offset = 0;           // the position of the first element in the file
  bool swapped = false;        // elements are big-endian
};

// Returns the size of the elements, in bytes.
size_t BytesOf(const ArrayHeader& header);

// `file` is the whole file, and `name` is what errors call it. Throws DataError: it is not a file
// of this kind, its type or order of elements is not supported, or it has fewer bytes than the
// header promises (truncated). More bytes than promised are an error too: the file holds something
// else.
ArrayHeader ParseNpy(const std::string& name, absl::string_view file);
ArrayHeader ParseIdx(const std::string& name, absl::string_view file);

// Tells by a file's first bytes which of the two it is.
bool LooksLikeNpy(absl::string_view file);
bool LooksLikeIdx(absl::string_view file);

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_ARRAY_HEADER_H_
