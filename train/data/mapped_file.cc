#include "train/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"
#include "train/data/data_error.h"

namespace hpc::train {

std::shared_ptr<const MappedFile> MappedFile::Open(const std::string& path) {
  auto fail = [&](const std::string& why) { throw DataError(absl::StrCat(path, ": ", why)); };
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.ok()) fail(errno == ENOENT ? "there is no such file" : std::strerror(errno));
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) fail(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail("it is no regular file");
  if (status.st_size == 0) fail("it is empty");
  const size_t size = static_cast<size_t>(status.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) fail(absl::StrCat("it cannot be mapped: ", std::strerror(errno)));
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, static_cast<const char*>(data), size));
}

MappedFile::~MappedFile() { munmap(const_cast<char*>(data_), size_); }

}  // namespace hpc::train
