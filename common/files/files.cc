#include "common/files/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace hpc {
namespace {

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status WriteAll(int fd, absl::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("write ", path));
    content.remove_prefix(static_cast<size_t>(n));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> ReadNames(int folder, absl::string_view path) {
  std::vector<std::string> names;
  // Reads without a DIR, which would double the number of system calls for a folder with few names.
  alignas(dirent64) char entries[8 << 10];
  ssize_t n;
  while ((n = getdents64(folder, entries, sizeof entries)) > 0) {
    for (ssize_t at = 0; at < n;) {
      const auto* entry = reinterpret_cast<const dirent64*>(entries + at);
      const absl::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      at += entry->d_reclen;
    }
  }
  if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
  return names;
}

std::vector<std::string> EntriesOf(int folder) {
  return NamesIn(folder).value_or(std::vector<std::string>());
}

// Opens the folder `name` in `parent`, also if its maker has closed it to everybody. If the result
// is not ok, errno says why.
UniqueFd OpenToEmpty(int parent, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  struct stat info;
  UniqueFd folder(openat(parent, name.c_str(), kFlags));
  if (!folder.ok() && errno == EACCES &&
      fchmodat(parent, name.c_str(), 0700, AT_SYMLINK_NOFOLLOW) == 0) {
    folder.Reset(openat(parent, name.c_str(), kFlags));
  }
  // If this is refused, emptying the folder fails and reports it.
  if (folder.ok() && fstat(folder.get(), &info) == 0 && (info.st_mode & 0700) != 0700) {
    (void)fchmod(folder.get(), 0700);
  }
  return folder;
}

// Returns 0 or errno. Folders below `folder` are moved into `top`, under names that are free there.
int RemoveAllBut(int folder, int top, int64_t* next_name) {
  for (const std::string& name : EntriesOf(folder)) {
    if (unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) continue;
    if (errno != EISDIR) return errno;
    if (unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0) continue;
    if (errno != ENOTEMPTY && errno != EEXIST) return errno;
    bool opened = false;
    while (renameat(folder, name.c_str(), top, absl::StrCat((*next_name)++).c_str()) != 0) {
      // Moving a folder also changes its entry "..", for which the folder itself must be writable.
      if (errno == EACCES && !std::exchange(opened, true) && OpenToEmpty(folder, name).ok())
        continue;
      if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return errno;
    }
  }
  return 0;
}

// Returns 0 or errno. However deep a tree is, only two of its folders are open at a time and no
// path grows.
int EmptyFolder(int top) {
  int64_t next_name = 0;
  for (auto names = EntriesOf(top); !names.empty(); names = EntriesOf(top)) {
    for (const std::string& name : names) {
      if (unlinkat(top, name.c_str(), 0) == 0 || errno == ENOENT) continue;
      if (errno != EISDIR) return errno;
      const UniqueFd folder = OpenToEmpty(top, name);
      if (!folder.ok()) return errno;
      if (const int error = RemoveAllBut(folder.get(), top, &next_name); error != 0) return error;
      if (unlinkat(top, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) return errno;
    }
  }
  return 0;
}

}  // namespace

absl::Status ErrnoStatus(int error, absl::string_view what) {
  const std::string text = absl::StrCat(what, ": ", strerror(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(text);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(text);
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::ResourceExhaustedError(text);
    case EEXIST:
      return absl::AlreadyExistsError(text);
    case EROFS:
    case ENOTDIR:
    case EISDIR:
    case ENOTEMPTY:
      return absl::FailedPreconditionError(text);
    default:
      return absl::InternalError(text);
  }
}

absl::StatusOr<std::string> ReadOpenFile(int fd, absl::string_view path, size_t max_bytes) {
  std::string content;
  char buffer[1 << 16];
  while (content.size() < max_bytes) {
    const ssize_t n = read(fd, buffer, std::min(sizeof buffer, max_bytes - content.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
    if (n == 0) break;
    content.append(buffer, static_cast<size_t>(n));
  }
  return content;
}

absl::Status InFile(absl::string_view path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::StatusOr<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  // A pipe under that name must not block us.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  return ReadOpenFile(fd.get(), path, max_bytes);
}

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content, int mode) {
  const std::string temporary = absl::StrCat(path, ".", getpid(), ".tmp");
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open ", temporary));
  absl::Status status = WriteAll(fd.get(), content, temporary);
  if (status.ok() && fsync(fd.get()) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("fsync ", temporary));
  }
  fd.Reset();
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("rename ", temporary, " to ", path));
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  return Sync(ParentOf(path));
}

void RemoveUnfinished(const std::string& folder) {
  for (const std::string& found : NamesIn(folder).value_or(std::vector<std::string>())) {
    // The name has the form NAME.PID.tmp.
    absl::string_view name = found;
    if (!absl::ConsumeSuffix(&name, ".tmp")) continue;
    const size_t digits = name.find_last_not_of("0123456789") + 1;
    if (digits == 0 || digits == name.size() || name[digits - 1] != '.') continue;
    unlink(absl::StrCat(folder, "/", found).c_str());
  }
}

absl::Status MakeDirs(const std::string& path, int mode) {
  if (mkdir(path.c_str(), static_cast<mode_t>(mode)) == 0) return absl::OkStatus();
  if (errno == EEXIST) {
    struct stat info;
    if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return absl::OkStatus();
    return ErrnoStatus(ENOTDIR, absl::StrCat("mkdir ", path));
  }
  if (errno != ENOENT || ParentOf(path) == path) {
    return ErrnoStatus(errno, absl::StrCat("mkdir ", path));
  }
  HPC_RETURN_IF_ERROR(MakeDirs(ParentOf(path)));
  if (mkdir(path.c_str(), static_cast<mode_t>(mode)) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, absl::StrCat("mkdir ", path));
  }
  return absl::OkStatus();
}

absl::Status MakeDirsDurably(const std::string& path, int mode) {
  struct stat info;
  const std::string parent = ParentOf(path);
  if (parent == path || stat(path.c_str(), &info) == 0) return MakeDirs(path, mode);
  HPC_RETURN_IF_ERROR(MakeDirsDurably(parent));
  HPC_RETURN_IF_ERROR(MakeDirs(path, mode));
  return Sync(parent);
}

absl::Status Sync(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  if (fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("fsync ", path));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> NamesIn(const std::string& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open ", folder));
  return ReadNames(fd.get(), folder);
}

absl::StatusOr<std::vector<std::string>> NamesIn(int folder) {
  if (lseek(folder, 0, SEEK_SET) < 0) return ErrnoStatus(errno, "read a folder from its beginning");
  return ReadNames(folder, "a folder");
}

absl::Status EmptyTree(const std::string& path) {
  const UniqueFd top = OpenToEmpty(AT_FDCWD, path);
  const int error = top.ok() ? EmptyFolder(top.get()) : errno;
  return error == 0 ? absl::OkStatus() : ErrnoStatus(error, absl::StrCat("empty ", path));
}

absl::Status RemoveTree(const std::string& path) {
  const UniqueFd top = OpenToEmpty(AT_FDCWD, path);
  int error = errno;
  if (top.ok()) {
    error = EmptyFolder(top.get());
    if (error == 0 && rmdir(path.c_str()) != 0) error = errno;
  } else if (error == ENOTDIR || error == ELOOP) {
    error = unlink(path.c_str()) == 0 ? 0 : errno;
  }
  return error == 0 || error == ENOENT ? absl::OkStatus()
                                       : ErrnoStatus(error, absl::StrCat("remove ", path));
}

}  // namespace hpc
