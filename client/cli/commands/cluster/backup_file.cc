#include "client/cli/commands/cluster/backup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

absl::Status NoSpace(const std::string& path, int64_t total) {
  return absl::ResourceExhaustedError(absl::StrCat("no space left for ", path, ", which takes ",
                                                   HumanBytes(static_cast<uint64_t>(total)),
                                                   ": nothing was kept of it"));
}

absl::Status SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.ok() && fsync(fd.get()) == 0) return absl::OkStatus();
  return ErrnoStatus(errno, absl::StrCat("fsync ", folder));
}

}  // namespace

absl::StatusOr<BackupFile> BackupFile::Begin(const std::string& path, bool replace) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && (!replace || !S_ISREG(info.st_mode))) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " exists already",
                     S_ISREG(info.st_mode) ? ": name another file, or replace it with --force"
                                           : ", and is no file"));
  }
  // The file may be left from a backup that was cut short.
  unlink((path + ".tmp").c_str());
  const std::string temporary = path + ".tmp";
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.ok()) return ErrnoStatus(errno, absl::StrCat("open ", temporary));
  return BackupFile(path, std::move(fd));
}

BackupFile::~BackupFile() {
  if (fd_.ok()) unlink(Temporary().c_str());
}

absl::Status BackupFile::Write(absl::string_view data, int64_t total) {
  while (!data.empty()) {
    const ssize_t n = write(fd_.get(), data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == ENOSPC || errno == EDQUOT)) return NoSpace(path_, total);
    if (n < 0) return ErrnoStatus(errno, absl::StrCat("write ", Temporary()));
    data.remove_prefix(static_cast<size_t>(n));
    written_ += n;
  }
  return absl::OkStatus();
}

absl::Status BackupFile::Finish(int64_t total) {
  if (written_ != total) {
    return absl::DataLossError(absl::StrCat("the coordinator sent ", written_, " of ", total,
                                            " bytes of the backup: try again"));
  }
  if (fsync(fd_.get()) != 0) return ErrnoStatus(errno, absl::StrCat("fsync ", Temporary()));
  if (rename(Temporary().c_str(), path_.c_str()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("rename ", Temporary(), " to ", path_));
  }
  fd_.Reset();
  return SyncFolderOf(path_);
}

}  // namespace hpc::client
