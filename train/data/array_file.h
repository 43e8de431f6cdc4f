// Opens arrays in files as tensors, mapped instead of read.
#ifndef HPC_TRAIN_DATA_ARRAY_FILE_H_
#define HPC_TRAIN_DATA_ARRAY_FILE_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "train/data/data_error.h"

namespace hpc::train {

// The demands on an array.
struct ArrayWanted {
  std::vector<at::ScalarType> types;  // one of these; empty: any
  std::vector<int64_t> shape;         // -1: any extent; empty: any shape
};

// Returns the array in an `.npy`, IDX or safetensors file, which is recognised by its first bytes.
// For a safetensors file, "<file>:<name>" is one tensor. The tensor's memory is the file's pages:
// nobody may write to it, and it keeps the file mapped. Elements that are big-endian, or lie in the
// file where the processor cannot read them, are copied.
//
// Throws DataError with the file's name: there is no such file, it is truncated, it is not an array
// file, or its type or shape is not what is wanted.
at::Tensor OpenArray(const std::string& path, const ArrayWanted& wanted = {});

// Returns whether a safetensors file "<file>:<name>" has that tensor. Throws DataError: no such
// file.
bool HasArray(const std::string& path);

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_ARRAY_FILE_H_
