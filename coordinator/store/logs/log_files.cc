#include "coordinator/store/logs/log_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"

namespace hpc::coordinator {
namespace {

absl::StatusOr<UniqueFd> OpenFile(const std::string& path, int flags) {
  UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  return fd;
}

class Posix final : public LogFiles {
 public:
  absl::StatusOr<std::vector<std::string>> List(const std::string& dir) override {
    auto names = NamesIn(dir);
    if (absl::IsNotFound(names.status())) return std::vector<std::string>();
    return names;
  }

  absl::StatusOr<int64_t> Size(const std::string& path) override {
    struct stat info;
    if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("stat ", path));
    return info.st_size;
  }

  absl::StatusOr<std::string> Read(const std::string& path, int64_t offset,
                                   int64_t length) override {
    HPC_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
    std::string bytes(static_cast<size_t>(length), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n = pread(fd.get(), bytes.data() + done, bytes.size() - done,
                              offset + static_cast<int64_t>(done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, absl::StrCat("read ", path));
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    bytes.resize(done);
    return bytes;
  }

  absl::Status MakeDir(const std::string& dir) override { return MakeDirs(dir, 0700); }

  absl::Status Write(const std::string& path, int64_t offset, absl::string_view data) override {
    HPC_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY | O_CREAT));
    while (!data.empty()) {
      const ssize_t n = pwrite(fd.get(), data.data(), data.size(), offset);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(errno, absl::StrCat("write ", path));
      data.remove_prefix(static_cast<size_t>(n));
      offset += n;
    }
    return absl::OkStatus();
  }

  absl::Status Sync(const std::string& path) override {
    HPC_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY));
    if (fdatasync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("fdatasync ", path));
    return absl::OkStatus();
  }

  absl::Status Truncate(const std::string& path, int64_t size) override {
    if (truncate(path.c_str(), size) == 0) return absl::OkStatus();
    return ErrnoStatus(errno, absl::StrCat("truncate ", path));
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (rename(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
    return ErrnoStatus(errno, absl::StrCat("rename ", from, " to ", to));
  }

  absl::Status Remove(const std::string& path) override {
    if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
    return ErrnoStatus(errno, absl::StrCat("remove ", path));
  }

  absl::Status SyncFolder(const std::string& dir) override {
    HPC_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(dir, O_RDONLY | O_DIRECTORY));
    if (fsync(fd.get()) != 0) return ErrnoStatus(errno, absl::StrCat("fsync ", dir));
    return absl::OkStatus();
  }
};

}  // namespace

LogFiles* PosixLogFiles() {
  static Posix files;
  return &files;
}

}  // namespace hpc::coordinator
