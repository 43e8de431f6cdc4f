#include "train/data/array_header.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/text.h"
#include "train/data/data_error.h"

namespace hpc::train {
namespace {

constexpr absl::string_view kNpyMagic("\x93NUMPY", 6);
constexpr size_t kMostDimensions = 32;  // the same as numpy's

[[noreturn]] void Fail(const std::string& name, const std::string& why) {
  throw DataError(absl::StrCat(name, ": ", why));
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", OneLine(ToValidUtf8(text.substr(0, 80))), "'");
}

uint64_t Little(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

uint64_t Big(absl::string_view bytes) {
  uint64_t value = 0;
  for (char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

// Checks that the file holds exactly what its header promises.
void CheckLength(const std::string& name, absl::string_view file, const ArrayHeader& header) {
  uint64_t elements = 1;
  bool empty = false;
  for (int64_t extent : header.shape) {
    if (extent < 0) Fail(name, absl::StrCat("its header gives a shape with ", extent));
    empty = empty || extent == 0;
    // Extents of an empty array count, too, since a tensor's strides are products of its extents.
    const auto factor = static_cast<uint64_t>(std::max<int64_t>(extent, 1));
    if (__builtin_mul_overflow(elements, factor, &elements) ||
        elements > std::numeric_limits<int64_t>::max() / 8) {
      Fail(name, absl::StrCat("its header gives a shape that is too large: [",
                              absl::StrJoin(header.shape, ", "), "]"));
    }
  }
  const uint64_t promised = empty ? 0 : elements * SizeOf(header.type);
  const uint64_t there = file.size() - header.offset;
  if (there == promised) return;
  Fail(name,
       absl::StrCat(there < promised ? "it is truncated: " : "there is more than its header says: ",
                    NameOf(header.type), "[", absl::StrJoin(header.shape, ", "), "] takes ",
                    promised, " bytes, and there are ", there));
}

// Reads "<f4" and the like. Elements of one byte have no byte order: "|u1".
std::optional<ElementType> TypeOfNpy(absl::string_view descr, bool* swapped) {
  static const auto* const kTypes = new std::map<absl::string_view, ElementType>{
      {"b1", ElementType::kBool},    {"u1", ElementType::kUint8},   {"i1", ElementType::kInt8},
      {"i2", ElementType::kInt16},   {"i4", ElementType::kInt32},   {"i8", ElementType::kInt64},
      {"f2", ElementType::kFloat16}, {"f4", ElementType::kFloat32}, {"f8", ElementType::kFloat64}};
  if (descr.size() != 3) return std::nullopt;
  const auto found = kTypes->find(descr.substr(1));
  if (found == kTypes->end()) return std::nullopt;
  if (absl::string_view("<>|=").find(descr[0]) == absl::string_view::npos) return std::nullopt;
  *swapped = descr[0] == '>';
  return found->second;
}

// Returns what follows `key` in the header, a Python dictionary: {'descr': '<f4', 'fortran_order':
// False, 'shape': (3, 4), }.
absl::string_view ValueOf(const std::string& name, absl::string_view header,
                          absl::string_view key) {
  const size_t at = header.find(absl::StrCat("'", key, "':"));
  if (at == absl::string_view::npos) {
    Fail(name, absl::StrCat("its header has no '", key, "': ", Quoted(header)));
  }
  return absl::StripLeadingAsciiWhitespace(header.substr(at + key.size() + 3));
}

std::vector<int64_t> ShapeOfNpy(const std::string& name, absl::string_view text) {
  const size_t end = text.find(')');
  if (!absl::StartsWith(text, "(") || end == absl::string_view::npos) {
    Fail(name, absl::StrCat("its header has no shape where it should: ", Quoted(text)));
  }
  std::vector<int64_t> shape;
  absl::string_view rest = text.substr(1, end - 1);
  while (!(rest = absl::StripLeadingAsciiWhitespace(rest)).empty()) {
    const size_t comma = std::min(rest.find(','), rest.size());
    int64_t extent = 0;
    if (!absl::SimpleAtoi(rest.substr(0, comma), &extent) || shape.size() == kMostDimensions) {
      Fail(name, absl::StrCat("its header has no shape where it should: ", Quoted(text)));
    }
    shape.push_back(extent);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return shape;
}

std::optional<ElementType> TypeOfIdx(unsigned char code) {
  switch (code) {
    case 0x08:
      return ElementType::kUint8;
    case 0x09:
      return ElementType::kInt8;
    case 0x0b:
      return ElementType::kInt16;
    case 0x0c:
      return ElementType::kInt32;
    case 0x0d:
      return ElementType::kFloat32;
    case 0x0e:
      return ElementType::kFloat64;
    default:
      return std::nullopt;
  }
}

}  // namespace

size_t SizeOf(ElementType type) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kUint8:
    case ElementType::kInt8:
      return 1;
    case ElementType::kInt16:
    case ElementType::kFloat16:
      return 2;
    case ElementType::kInt32:
    case ElementType::kFloat32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kFloat64:
      return 8;
  }
  return 0;
}

std::string NameOf(ElementType type) {
  constexpr const char* kNames[] = {"bool",  "uint8",   "int8",    "int16",  "int32",
                                    "int64", "float16", "float32", "float64"};
  return kNames[static_cast<int>(type)];
}

size_t BytesOf(const ArrayHeader& header) {
  size_t bytes = SizeOf(header.type);
  for (int64_t extent : header.shape) bytes *= static_cast<size_t>(extent);
  return bytes;
}

bool LooksLikeNpy(absl::string_view file) { return absl::StartsWith(file, kNpyMagic); }

bool LooksLikeIdx(absl::string_view file) {
  return file.size() >= 4 && file[0] == 0 && file[1] == 0 && file[2] != 0 && file[3] != 0;
}

ArrayHeader ParseNpy(const std::string& name, absl::string_view file) {
  if (!LooksLikeNpy(file)) Fail(name, "it does not begin as an .npy file does");
  if (file.size() < 12) Fail(name, "it is truncated: there is no header");
  const int version = file[6];
  if (version < 1 || version > 3) {
    Fail(name, absl::StrCat("it is of version ", version, " of .npy; 1 to 3 are read"));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t begin = 8 + length_bytes;
  const size_t length = Little(file.substr(8, length_bytes));
  if (length > file.size() - begin) {
    Fail(name, absl::StrCat("it is truncated: its header takes ", length, " bytes, and there are ",
                            file.size() - begin));
  }
  const absl::string_view text = file.substr(begin, length);
  ArrayHeader header;
  header.offset = begin + length;
  absl::string_view descr = ValueOf(name, text, "descr");
  descr = descr.substr(0, descr.find(','));
  const absl::string_view inner = descr.size() >= 2 ? descr.substr(1, descr.size() - 2) : descr;
  const std::optional<ElementType> type = TypeOfNpy(inner, &header.swapped);
  if (!type) {
    Fail(name, absl::StrCat("its elements are ", Quoted(inner),
                            absl::StrContains(inner, "O") ? " (Python's objects)" : "",
                            "; read are bool, uint8, int8 to int64 and float16 to float64"));
  }
  header.type = *type;
  if (absl::StartsWith(ValueOf(name, text, "fortran_order"), "True")) {
    Fail(name, "its elements are in Fortran's order: save numpy.ascontiguousarray of it");
  }
  header.shape = ShapeOfNpy(name, ValueOf(name, text, "shape"));
  CheckLength(name, file, header);
  return header;
}

ArrayHeader ParseIdx(const std::string& name, absl::string_view file) {
  if (!LooksLikeIdx(file)) Fail(name, "it does not begin as an IDX file does");
  const auto code = static_cast<unsigned char>(file[2]);
  const std::optional<ElementType> type = TypeOfIdx(code);
  if (!type) {
    Fail(name, absl::StrCat("its elements are of the code ", code, ", which IDX does not have"));
  }
  ArrayHeader header;
  header.type = *type;
  header.swapped = SizeOf(*type) > 1;
  const size_t dimensions = static_cast<unsigned char>(file[3]);
  header.offset = 4 + 4 * dimensions;
  if (dimensions > kMostDimensions || file.size() < header.offset) {
    Fail(name, absl::StrCat("it is truncated: a header of ", dimensions, " dimensions takes ",
                            header.offset, " bytes, and there are ", file.size()));
  }
  for (size_t i = 0; i < dimensions; ++i) {
    header.shape.push_back(static_cast<int64_t>(Big(file.substr(4 + 4 * i, 4))));
  }
  CheckLength(name, file, header);
  return header;
}

}  // namespace hpc::train
