#include "worker/supervisor_client/quick_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/files/files.h"
#include "common/unique_fd.h"

namespace hpc::worker {
namespace {

absl::Status Write(const std::string& path, int how, const std::string& text) {
  constexpr int kHoldsNobodyUp = O_NONBLOCK | O_NOFOLLOW | O_NOCTTY;
  const UniqueFd fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | kHoldsNobodyUp | how, 0600));
  if (!fd.ok()) return ErrnoStatus(errno, "make " + path);
  const ssize_t n = write(fd.get(), text.data(), text.size());
  if (n < 0) return ErrnoStatus(errno, "write " + path);
  if (static_cast<size_t>(n) == text.size()) return absl::OkStatus();
  // Ends a torn line, so that the new text is not appended to it.
  const off_t end = lseek(fd.get(), 0, SEEK_CUR);
  if (end >= n) (void)ftruncate(fd.get(), end - n);
  return ErrnoStatus(ENOSPC, "write " + path);
}

}  // namespace

absl::Status WriteQuickly(const std::string& path, const std::string& text) {
  return Write(path, O_TRUNC, text);
}

absl::Status AppendQuickly(const std::string& path, const std::string& text) {
  return Write(path, O_APPEND, text);
}

}  // namespace hpc::worker
