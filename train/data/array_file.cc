#include "train/data/array_file.h"

#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "train/checkpoint/safetensors.h"
#include "train/data/array_header.h"
#include "train/data/mapped_file.h"

namespace hpc::train {
namespace {

at::ScalarType ScalarTypeOf(ElementType type) {
  switch (type) {
    case ElementType::kBool:
      return at::kBool;
    case ElementType::kUint8:
      return at::kByte;
    case ElementType::kInt8:
      return at::kChar;
    case ElementType::kInt16:
      return at::kShort;
    case ElementType::kInt32:
      return at::kInt;
    case ElementType::kInt64:
      return at::kLong;
    case ElementType::kFloat16:
      return at::kHalf;
    case ElementType::kFloat32:
      return at::kFloat;
    case ElementType::kFloat64:
      return at::kDouble;
  }
  return at::kByte;
}

std::string TypeName(at::ScalarType type) { return absl::AsciiStrToLower(c10::toString(type)); }

std::string ShapeName(at::IntArrayRef shape) {
  return absl::StrCat("[",
                      absl::StrJoin(shape, ", ",
                                    [](std::string* out, int64_t extent) {
                                      absl::StrAppend(out,
                                                      extent < 0 ? "any" : absl::StrCat(extent));
                                    }),
                      "]");
}

// Returns a copy, with the bytes of each element in the processor's order.
at::Tensor Copied(const char* bytes, const ArrayHeader& header) {
  at::Tensor copy = at::empty(header.shape, ScalarTypeOf(header.type));
  auto* to = static_cast<char*>(copy.data_ptr());
  const size_t size = SizeOf(header.type), all = BytesOf(header);
  std::copy(bytes, bytes + all, to);
  if (!header.swapped) return copy;
  for (size_t at = 0; at < all; at += size) std::reverse(to + at, to + at + size);
  return copy;
}

at::Tensor TensorOf(const std::shared_ptr<const MappedFile>& file, const ArrayHeader& header) {
  const char* bytes = file->bytes().data() + header.offset;
  if (header.swapped || reinterpret_cast<uintptr_t>(bytes) % SizeOf(header.type) != 0) {
    return Copied(bytes, header);
  }
  return at::from_blob(
      const_cast<char*>(bytes), header.shape, [file](void*) {},
      at::TensorOptions(ScalarTypeOf(header.type)));
}

at::ScalarType ScalarTypeOf(const std::string& path, const std::string& dtype) {
  static const auto* const kTypes = new std::map<std::string, at::ScalarType>{
      {"BOOL", at::kBool}, {"U8", at::kByte},   {"I8", at::kChar},  {"I16", at::kShort},
      {"I32", at::kInt},   {"I64", at::kLong},  {"F16", at::kHalf}, {"BF16", at::kBFloat16},
      {"F32", at::kFloat}, {"F64", at::kDouble}};
  const auto found = kTypes->find(dtype);
  if (found != kTypes->end()) return found->second;
  throw DataError(absl::StrCat(path, ": its elements are ", dtype, ", which are not read here"));
}

// Splits "<file>:<name>", unless a file has that name itself.
std::optional<std::pair<std::string, std::string>> FileAndName(const std::string& path) {
  const size_t colon = path.rfind(':');
  if (colon == std::string::npos || access(path.c_str(), F_OK) == 0) return std::nullopt;
  return std::make_pair(path.substr(0, colon), path.substr(colon + 1));
}

at::Tensor OpenSafetensors(const std::string& path, const std::string& file_path,
                           const std::string& name) {
  try {
    const auto file = std::make_shared<const SafetensorsFile>(file_path);
    const SafetensorsTensor& one = file->Get(name);
    const at::ScalarType type = ScalarTypeOf(path, one.dtype);
    const absl::string_view bytes = file->Bytes(one);
    const at::Tensor mapped = at::from_blob(
        const_cast<char*>(bytes.data()), one.shape, [file](void*) {}, at::TensorOptions(type));
    if (reinterpret_cast<uintptr_t>(bytes.data()) % mapped.element_size() == 0) return mapped;
    at::Tensor copy = at::empty(one.shape, type);
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(copy.data_ptr()));
    return copy;
  } catch (const SafetensorsError& error) {
    throw DataError(error.what());
  }
}

at::Tensor Open(const std::string& path) {
  if (const auto in = FileAndName(path)) return OpenSafetensors(path, in->first, in->second);
  const auto file = MappedFile::Open(path);
  if (LooksLikeNpy(file->bytes())) return TensorOf(file, ParseNpy(path, file->bytes()));
  if (LooksLikeIdx(file->bytes())) return TensorOf(file, ParseIdx(path, file->bytes()));
  throw DataError(absl::StrCat(
      path, ": it is neither an .npy nor an IDX file; of a safetensors file say FILE:NAME"));
}

bool FitsShape(at::IntArrayRef shape, const std::vector<int64_t>& wanted) {
  if (wanted.empty()) return true;
  if (shape.size() != wanted.size()) return false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] >= 0 && shape[i] != wanted[i]) return false;
  }
  return true;
}

}  // namespace

at::Tensor OpenArray(const std::string& path, const ArrayWanted& wanted) {
  at::Tensor array = Open(path);
  const auto& types = wanted.types;
  if (!types.empty() && std::find(types.begin(), types.end(), array.scalar_type()) == types.end()) {
    throw DataError(absl::StrCat(
        path, ": its elements are ", TypeName(array.scalar_type()), " where ",
        absl::StrJoin(types, " or ",
                      [](std::string* out, at::ScalarType type) { *out += TypeName(type); }),
        " is needed"));
  }
  if (!FitsShape(array.sizes(), wanted.shape)) {
    throw DataError(absl::StrCat(path, ": its shape is ", ShapeName(array.sizes()), " where ",
                                 ShapeName(wanted.shape), " is needed"));
  }
  return array;
}

bool HasArray(const std::string& path) {
  const auto in = FileAndName(path);
  if (!in) return false;
  try {
    return SafetensorsFile(in->first).Find(in->second) != nullptr;
  } catch (const SafetensorsError& error) {
    throw DataError(error.what());
  }
}

}  // namespace hpc::train
