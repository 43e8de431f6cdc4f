#include "train/checkpoint/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/files/files.h"
#include "common/text.h"
#include "common/unique_fd.h"

namespace hpc::train {
namespace {

using nlohmann::json;

constexpr uint64_t kLengthBytes = 8;
constexpr char kMetadata[] = "__metadata__";

// Quotes a name for messages. Names come from a file, so they may hold anything.
std::string Quoted(const std::string& name) { return "'" + OneLine(name.substr(0, 200)) + "'"; }

[[noreturn]] void Refuse(const std::string& reason) { throw SafetensorsError(reason); }

uint64_t ReadLength(absl::string_view bytes) {
  uint64_t length = 0;
  for (uint64_t i = kLengthBytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return length;
}

// Refuses two members of the same name. A JSON library keeps only one, and a reader cannot know
// which.
json ParseWithoutRepetition(absl::string_view text) {
  std::vector<std::set<std::string>> keys;  // one set for each object that is open
  std::string repeated;
  auto watch = [&](int depth, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) {
      if (depth > 3) Refuse("the header's JSON is nested too deeply");
      keys.emplace_back();
    } else if (event == json::parse_event_t::array_start && depth > 3) {
      Refuse("the header's JSON is nested too deeply");
    } else if (event == json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) repeated = key;
    }
    return true;
  };
  json header = json::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (header.is_discarded()) Refuse("the header is not JSON");
  if (!header.is_object()) Refuse("the header is not a JSON object");
  if (!repeated.empty()) Refuse(absl::StrCat("the header has ", Quoted(repeated), " twice"));
  return header;
}

std::map<std::string, std::string> ParseMetadata(const json& value) {
  if (!value.is_object()) Refuse("__metadata__ is not a JSON object");
  std::map<std::string, std::string> metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) Refuse(absl::StrCat("__metadata__ ", Quoted(key), " is not a text"));
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

const json& Member(const json& object, const char* name, const std::string& tensor) {
  const auto found = object.find(name);
  if (found == object.end()) Refuse(absl::StrCat("tensor ", tensor, " has no ", name));
  return *found;
}

// Reads a number of at most 2^62, so that sums of two do not overflow.
uint64_t Unsigned(const json& value, const std::string& what) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t{1} << 62) {
    Refuse(what + " has something else than numbers from 0");
  }
  return value.get<uint64_t>();
}

// Returns the number of elements times the bytes of one, or none if no file can have so many bytes.
// Even if one extent is 0, the product of the others must not be larger than that, since a tensor's
// strides are such products.
std::optional<uint64_t> DataBytes(const SafetensorsTensor& tensor, uint64_t element_bytes) {
  uint64_t bytes = element_bytes;
  bool empty = false;
  for (int64_t extent : tensor.shape) {
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes) ||
               bytes > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return std::nullopt;
    }
  }
  return empty ? 0 : bytes;
}

// begin and end are positions in the data.
SafetensorsTensor ParseTensor(const std::string& name, const json& value) {
  const std::string quoted = Quoted(name);
  if (!value.is_object()) Refuse(absl::StrCat("tensor ", quoted, " is not a JSON object"));
  SafetensorsTensor tensor = {.name = name};
  const json& dtype = Member(value, "dtype", quoted);
  if (!dtype.is_string()) Refuse(absl::StrCat("the dtype of tensor ", quoted, " is not a text"));
  tensor.dtype = dtype.get<std::string>();
  const json& shape = Member(value, "shape", quoted);
  if (!shape.is_array()) Refuse(absl::StrCat("the shape of tensor ", quoted, " is no list"));
  for (const json& extent : shape) {
    tensor.shape.push_back(
        static_cast<int64_t>(Unsigned(extent, absl::StrCat("the shape of tensor ", quoted))));
  }
  const json& offsets = Member(value, "data_offsets", quoted);
  if (!offsets.is_array() || offsets.size() != 2) {
    Refuse(absl::StrCat("the data_offsets of tensor ", quoted, " are not two"));
  }
  tensor.begin = Unsigned(offsets[0], absl::StrCat("data_offsets of tensor ", quoted));
  tensor.end = Unsigned(offsets[1], absl::StrCat("data_offsets of tensor ", quoted));
  const std::optional<uint64_t> element_bytes = SafetensorsElementBytes(tensor.dtype);
  if (!element_bytes) {
    Refuse(absl::StrCat("tensor ", quoted, " is of type ", Quoted(tensor.dtype),
                        ", which is not known"));
  }
  const std::optional<uint64_t> bytes = DataBytes(tensor, *element_bytes);
  if (tensor.end < tensor.begin || bytes != tensor.end - tensor.begin) {
    Refuse(absl::StrCat("tensor ", quoted, " of ", tensor.dtype, "[",
                        absl::StrJoin(tensor.shape, ", "), "] has data from ", tensor.begin, " to ",
                        tensor.end, ", which is not its size"));
  }
  return tensor;
}

// Checks that the tensors' data follow one another and fill the file from `data` on, and places
// them.
void Place(std::vector<SafetensorsTensor>* tensors, uint64_t data, uint64_t size) {
  std::stable_sort(tensors->begin(), tensors->end(),
                   [](const SafetensorsTensor& a, const SafetensorsTensor& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  uint64_t end = 0;
  for (SafetensorsTensor& one : *tensors) {
    if (one.end > size - data) {
      Refuse(absl::StrCat("the data of tensor ", Quoted(one.name), " ends at ", one.end,
                          ", and the file has ", size - data,
                          " bytes of data: it is cut short, "
                          "or its header lies"));
    }
    if (one.begin < end) {
      Refuse(absl::StrCat("the data of tensor ", Quoted(one.name), " overlaps with another's"));
    }
    if (one.begin > end) {
      Refuse(absl::StrCat(one.begin - end, " bytes before the data of tensor ", Quoted(one.name),
                          " belong to no tensor"));
    }
    end = one.end;
    one.begin += data;
    one.end += data;
  }
  if (end != size - data) {
    Refuse(absl::StrCat(size - data - end, " bytes at the end of the file belong to no tensor"));
  }
}

UniqueFd OpenToMap(const std::string& path, struct stat* info) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.ok() || fstat(fd.get(), info) != 0) {
    throw SafetensorsError(std::string(ErrnoStatus(errno, "open " + path).message()));
  }
  if (!S_ISREG(info->st_mode)) throw SafetensorsError(path + ": it is not a file");
  return fd;
}

}  // namespace

std::optional<uint64_t> SafetensorsElementBytes(absl::string_view dtype) {
  static constexpr std::array<std::pair<absl::string_view, uint64_t>, 16> kTypes = {{
      {"BOOL", 1},
      {"U8", 1},
      {"I8", 1},
      {"F8_E4M3", 1},
      {"F8_E5M2", 1},
      {"U16", 2},
      {"I16", 2},
      {"F16", 2},
      {"BF16", 2},
      {"U32", 4},
      {"I32", 4},
      {"F32", 4},
      {"U64", 8},
      {"I64", 8},
      {"F64", 8},
      {"C64", 8},
  }};
  for (const auto& [name, bytes] : kTypes) {
    if (name == dtype) return bytes;
  }
  return std::nullopt;
}

SafetensorsHeader ParseSafetensorsHeader(absl::string_view file, uint64_t size) {
  if (file.size() < kLengthBytes || size < kLengthBytes) {
    Refuse(absl::StrCat("it has ", size, " bytes, and a safetensors file has 8 at least"));
  }
  const uint64_t length = ReadLength(file);
  if (length > kMaxSafetensorsHeader) {
    Refuse(absl::StrCat("its header has ", length, " bytes, more than ", kMaxSafetensorsHeader,
                        ": this is no safetensors file"));
  }
  if (length > size - kLengthBytes || length > file.size() - kLengthBytes) {
    Refuse(absl::StrCat("its header has ", length, " bytes, and the file ", size));
  }
  const json parsed = ParseWithoutRepetition(file.substr(kLengthBytes, length));
  SafetensorsHeader header;
  for (const auto& [name, value] : parsed.items()) {
    if (name == kMetadata) {
      header.metadata = ParseMetadata(value);
    } else {
      header.tensors.push_back(ParseTensor(name, value));
    }
  }
  Place(&header.tensors, kLengthBytes + length, size);
  return header;
}

std::string EncodeSafetensorsHeader(SafetensorsHeader* header) {
  json encoded = json::object();
  if (!header->metadata.empty()) encoded[kMetadata] = header->metadata;
  uint64_t end = 0;
  for (SafetensorsTensor& one : header->tensors) {
    const std::optional<uint64_t> element_bytes = SafetensorsElementBytes(one.dtype);
    const std::optional<uint64_t> bytes =
        element_bytes ? DataBytes(one, *element_bytes) : std::nullopt;
    if (!bytes) Refuse(absl::StrCat("tensor ", Quoted(one.name), " is of type ", one.dtype));
    if (one.name == kMetadata || encoded.contains(one.name)) {
      Refuse(absl::StrCat("a tensor cannot have the name ", Quoted(one.name), ", which is taken"));
    }
    one.begin = end;
    one.end = end += *bytes;
    encoded[one.name] = {
        {"dtype", one.dtype}, {"shape", one.shape}, {"data_offsets", {one.begin, one.end}}};
  }
  std::string text = encoded.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string file;
  for (uint64_t i = 0; i < kLengthBytes; ++i) {
    file.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  }
  file += text;
  for (SafetensorsTensor& one : header->tensors) {
    one.begin += file.size();
    one.end += file.size();
  }
  return file;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  struct stat info = {};
  const UniqueFd fd = OpenToMap(path, &info);
  size_ = static_cast<size_t>(info.st_size);
  if (size_ > 0) {
    void* mapped = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd.get(), 0);
    if (mapped == MAP_FAILED) {
      throw SafetensorsError(std::string(ErrnoStatus(errno, "map " + path).message()));
    }
    data_ = static_cast<const char*>(mapped);
    mapped_ = true;
  }
  try {
    ReadHeader();
  } catch (const SafetensorsError&) {
    if (mapped_) munmap(const_cast<char*>(data_), size_);
    throw;
  }
}

SafetensorsFile::SafetensorsFile(const std::string& name, absl::string_view bytes)
    : path_(name), data_(bytes.data()), size_(bytes.size()) {
  ReadHeader();
}

void SafetensorsFile::ReadHeader() {
  try {
    header_ = ParseSafetensorsHeader(Bytes(), size_);
  } catch (const SafetensorsError& error) {
    throw SafetensorsError(absl::StrCat(path_, ": ", error.what()));
  }
  for (size_t i = 0; i < header_.tensors.size(); ++i) places_[header_.tensors[i].name] = i;
}

SafetensorsFile::~SafetensorsFile() {
  if (mapped_) munmap(const_cast<char*>(data_), size_);
}

SafetensorsFile::SafetensorsFile(SafetensorsFile&& other) noexcept
    : path_(other.path_),
      mapped_(std::exchange(other.mapped_, false)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      header_(std::move(other.header_)),
      places_(std::move(other.places_)) {}

const SafetensorsTensor* SafetensorsFile::Find(absl::string_view name) const {
  const auto found = places_.find(std::string(name));
  return found == places_.end() ? nullptr : &header_.tensors[found->second];
}

const SafetensorsTensor& SafetensorsFile::Get(absl::string_view name) const {
  if (const SafetensorsTensor* tensor = Find(name)) return *tensor;
  std::vector<std::string> names;
  for (const SafetensorsTensor& one : header_.tensors) names.push_back(Quoted(one.name));
  throw SafetensorsError(absl::StrCat(path_, ": it has no tensor ", Quoted(std::string(name)),
                                      ", but ", names.empty() ? "none" : JoinSome(names, 10)));
}

absl::string_view SafetensorsFile::Bytes(const SafetensorsTensor& tensor) const {
  return Bytes().substr(tensor.begin, tensor.end - tensor.begin);
}

}  // namespace hpc::train
