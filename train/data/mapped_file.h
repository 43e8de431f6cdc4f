// A file as memory. Pages are read when they are first looked at, and given back when memory is
// short, so that data may be larger than memory.
#ifndef HPC_TRAIN_DATA_MAPPED_FILE_H_
#define HPC_TRAIN_DATA_MAPPED_FILE_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace hpc::train {

// Immutable, thread-safe. The file must not become shorter while it is mapped, since reading a part
// that is gone ends the process with SIGBUS. Replacing it by another file (rename) is safe.
class MappedFile {
 public:
  // Throws DataError: there is no such file, it may not be read, it is not a regular file, or it is
  // empty.
  static std::shared_ptr<const MappedFile> Open(const std::string& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  absl::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(std::string path, const char* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}

  const std::string path_;
  const char* const data_;
  const size_t size_;
};

}  // namespace hpc::train

#endif  // HPC_TRAIN_DATA_MAPPED_FILE_H_
