#include "worker/supervisor_client/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_macros.h"

namespace hpc::worker {

absl::StatusOr<UniqueFd> OpenForeignFile(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.ok() && errno != ELOOP && errno != ENXIO) {
    return ErrnoStatus(errno, absl::StrCat("open ", path));
  }
  struct stat file, folder;
  const bool plain = fd.ok() && fstat(fd.get(), &file) == 0 && S_ISREG(file.st_mode);
  if (!plain || stat(path.substr(0, path.rfind('/') + 1).c_str(), &folder) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(path, " is not a plain file"));
  }
  // The file is a hard link to somebody else's. If the folder is ours, we could read the file
  // anyway.
  if (folder.st_uid != geteuid() && file.st_uid != folder.st_uid) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, " belongs to another account than its folder"));
  }
  return fd;
}

absl::StatusOr<std::string> ReadForeignFile(const std::string& path, size_t max_bytes) {
  HPC_ASSIGN_OR_RETURN(const UniqueFd fd, OpenForeignFile(path));
  return ReadOpenFile(fd.get(), path, max_bytes);
}

int64_t ForeignFileSize(const std::string& path) {
  const auto fd = OpenForeignFile(path);
  struct stat info;
  return fd.ok() && fstat(fd->get(), &info) == 0 ? info.st_size : 0;
}

absl::Time ForeignFileWritten(const std::string& path) {
  const auto fd = OpenForeignFile(path);
  struct stat info;
  if (!fd.ok() || fstat(fd->get(), &info) != 0) return absl::InfinitePast();
  return absl::TimeFromTimespec(info.st_mtim);
}

}  // namespace hpc::worker
