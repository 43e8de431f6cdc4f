// Tensors in files, as Python's `safetensors` package writes and reads them. Needs no LibTorch.
//
//     const SafetensorsFile file("/srv/data/train.safetensors");  // mapped, not read
//     const SafetensorsTensor& images = file.Get("images");       // throws if it has none
//     absl::string_view bytes = file.Bytes(images);               // of images.shape, images.dtype
//
//     8 bytes  little endian: the length of the header
//     header   {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...,
//               "__metadata__": {"key": "text", ...}}, with spaces at its end
//     data     of the tensors, one after the other, row-major, little endian
//
// Everything that a header says is checked against the file before it is used. These are refused:
// names that occur twice, types that are not known, shapes that do not fit the length of their
// data, and data that are outside of the file, overlap, or belong to no tensor.
// safetensors.load_file refuses the same.
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

// The largest header that is accepted, as in the package.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

// what() is one line, and begins with the file's name where there is a file.
class SafetensorsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct SafetensorsTensor {
  std::string name;
  std::string dtype;  // as in the file: "F32"
  std::vector<int64_t> shape;
  uint64_t begin = 0, end = 0;  // its data, in bytes from the beginning of the file
};

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;  // sorted by the order of their data
  std::map<std::string, std::string> metadata;
};

// Returns the bytes of one element of the types BOOL, U8, I8, F8_E4M3, F8_E5M2, U16, I16, F16,
// BF16, U32, I32, F32, U64, I64, F64 and C64. Returns none for any other type.
std::optional<uint64_t> SafetensorsElementBytes(absl::string_view dtype);

// `file` is the file, or at least its header and the 8 bytes before it. `size` is the size of the
// whole file. Throws SafetensorsError.
SafetensorsHeader ParseSafetensorsHeader(absl::string_view file, uint64_t size);

// Returns the beginning of a file, up to its data; its length is a multiple of 8. Data must follow
// in the order of header.tensors. Sets the begin and end of each tensor. Tensors with large
// elements should come first, otherwise some will not be at a multiple of their element's size.
// Throws SafetensorsError on an unknown type or a name that occurs twice.
std::string EncodeSafetensorsHeader(SafetensorsHeader* header);

// A file that is mapped read-only: its pages are read as they are used. If somebody cuts the file
// short meanwhile, this process ends with a SIGBUS, so replace files by renaming. Movable; all
// methods may be called from any thread.
class SafetensorsFile {
 public:
  // Throws SafetensorsError: there is no such file, it may not be read, or any of the above.
  explicit SafetensorsFile(const std::string& path);
  // Reads `bytes` in memory, which must outlive it. `name` stands for the path.
  SafetensorsFile(const std::string& name, absl::string_view bytes);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&& other) noexcept;
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  const SafetensorsHeader& header() const { return header_; }

  const SafetensorsTensor* Find(absl::string_view name) const;  // nullptr: there is none
  // Throws SafetensorsError that names the file, and what it has.
  const SafetensorsTensor& Get(absl::string_view name) const;

  // Returns the tensor's data, which live as long as the file. In files that others wrote, they may
  // be at an address that is not a multiple of the element's size. Copy them in that case.
  absl::string_view Bytes(const SafetensorsTensor& tensor) const;

  // Returns the whole file.
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
