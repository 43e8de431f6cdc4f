// Tensors in files, as Python's `safetensors` package writes and reads them. Needs no LibTorch.
//
//     const SafetensorsFile file("/srv/data/train.safetensors");        // mapped, not read
//     const SafetensorsTensor& images = file.Get("images");             // throws if it has none
//     absl::string_view bytes = file.Bytes(images);                     // of images.shape,
//     images.dtype
//
//     8 bytes  little endian: the length of the header
//     header   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
//               "__metadata__": {"key": "text", ...}}, with spaces at its end
//     data     of the tensors, one after the other, row-major, little endian
//
// Everything that a header says is held against the file before anybody is told of it: names that
// occur twice, types that are not known, shapes that are not as long as their data, data outside of
// the file, or that overlaps, or that belongs to no tensor. safetensors.load_file refuses the same.
#ifndef HPC_TRAIN_CHECKPOINT_SAFETENSORS_H_
#define HPC_TRAIN_CHECKPOINT_SAFETENSORS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::train {

// What a header may have at most; as in the package.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

// what() is one line, and begins with the file's name where there is a file.
class SafetensorsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct SafetensorsTensor {
  std::string name;
  std::string dtype;  // "F32"
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // of its data, in bytes from the file's begin
};

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

// Bytes of one element: of BOOL, U8, I8, F8_E4M3, F8_E5M2, U16, I16, F16, BF16, U32, I32, F32, U64,
// I64, F64 and C64. None of another.
std::optional<uint64_t> SafetensorsElementBytes(absl::string_view dtype);

// `file` is the file, or at least its header and those 8 bytes; `size` what all of it has. Throws
// SafetensorsError.
SafetensorsHeader ParseSafetensorsHeader(absl::string_view file, uint64_t size);

// The begin of a file, up to its data, whose length is a multiple of 8; data follows in the order
// of header.tensors. Sets their begin and end. Those with large elements first, else each is not at
// a multiple of its element's size. Throws SafetensorsError on an unknown type or a name twice.
std::string EncodeSafetensorsHeader(SafetensorsHeader* header);

// A file, mapped read-only: its pages come as they are used. Whoever cuts the file short meanwhile
// ends this process with a SIGBUS: replace files by renaming. Movable; all methods from any thread.
class SafetensorsFile {
 public:
  // Throws SafetensorsError: no such file, may not be read, or any of the above.
  explicit SafetensorsFile(const std::string& path);
  // Of `bytes` in memory, which outlive it; `name` stands for its path.
  SafetensorsFile(const std::string& name, absl::string_view bytes);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  const SafetensorsHeader& header() const { return header_; }

  const SafetensorsTensor* Find(absl::string_view name) const;  // nullptr: none
  // Throws SafetensorsError that names the file, and what it has.
  const SafetensorsTensor& Get(absl::string_view name) const;

  // Its data. Lives as long as the file. Of files that others wrote it may be at an address that is
  // no multiple of its element's size: copy it then.
  absl::string_view Bytes(const SafetensorsTensor& tensor) const;

  // All of the file.
  absl::string_view Bytes() const { return {data_, size_}; }

 private:
  void ReadHeader();

  const std::string path_;
  bool mapped_ = false;
  const char* data_ = nullptr;
  size_t size_ = 0;
  SafetensorsHeader header_;
  std::map<std::string, size_t> places_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECKPOINT_SAFETENSORS_H_
