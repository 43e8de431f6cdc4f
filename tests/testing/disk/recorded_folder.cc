#include "tests/testing/disk/recorded_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace hpc::testing {
namespace {

using Kind = DiskOperation::Kind;

// What is known of the folder while it is being recorded.
class Recorder {
 public:
  explicit Recorder(const std::string& root) : root_(root) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      Found(entry.path().string(), entry.is_directory());
    }
    Add({.kind = Kind::kSyncAll});
    recording.beginning = std::exchange(recording.operations, {});
  }

  void Opened(int fd, const std::string& path, bool truncated) {
    if (!IsInside(path)) return;
    const std::optional<int> known = Find(path);
    const int file = known ? *known : Link(path, /*is_folder=*/false);
    open_[fd] = file;
    if (known && truncated) Add({.kind = Kind::kTruncate, .file = file});
  }
  void OpenedToRead(int fd, const std::string& path) {
    // A descriptor that may only read a file can still sync it.
    if (const std::optional<int> file = Find(path)) open_[fd] = *file;
  }
  void OpenedFolder(int fd, const std::string& path) {
    if (path == root_ || IsInside(path)) open_[fd] = Find(path).value_or(0);
  }
  void Closed(int fd) { open_.erase(fd); }
  void Wrote(int fd, const void* data, size_t size, int64_t offset) {
    const auto it = open_.find(fd);
    if (it == open_.end()) return;
    Add({.kind = Kind::kWrite,
         .file = it->second,
         .offset = offset,
         .data = std::string(static_cast<const char*>(data), size)});
  }
  void Truncated(int fd, int64_t size) {
    const auto it = open_.find(fd);
    if (it != open_.end()) Add({.kind = Kind::kTruncate, .file = it->second, .offset = size});
  }
  void Truncated(const std::string& path, int64_t size) {
    const std::optional<int> file = Find(path);
    if (file) Add({.kind = Kind::kTruncate, .file = *file, .offset = size});
  }
  void Synced(int fd) {
    const auto it = open_.find(fd);
    if (it != open_.end()) Add({.kind = Kind::kSync, .file = it->second});
  }
  void SyncedAll(int fd) {
    if (open_.contains(fd)) Add({.kind = Kind::kSyncAll});
  }
  void MadeFolder(const std::string& path) {
    if (IsInside(path)) Link(path, /*is_folder=*/true);
  }
  void Removed(const std::string& path) {
    const std::optional<int> file = Find(path);
    if (!file) return;
    const auto [folder, name] = Split(path);
    names_[folder].erase(name);
    Add({.kind = Kind::kUnlink, .file = *file, .folder = folder, .name = name});
  }
  void Renamed(const std::string& from, const std::string& to) {
    const std::optional<int> file = Find(from);
    if (!file || !IsInside(to)) return;
    const auto [folder, name] = Split(from);
    const auto [new_folder, new_name] = Split(to);
    names_[folder].erase(name);
    names_[new_folder][new_name] = *file;
    Add({.kind = Kind::kRename,
         .file = *file,
         .folder = folder,
         .new_folder = new_folder,
         .name = name,
         .new_name = new_name});
  }

  Recording recording;

 private:
  // SQLite's shared memory is not data. SQLite writes it without the C library, and makes it anew.
  bool IsInside(const std::string& path) const {
    return path.starts_with(root_ + "/") && !path.ends_with("-shm");
  }
  void Add(DiskOperation operation) { recording.operations.push_back(std::move(operation)); }

  std::optional<int> Find(const std::string& path) {
    if (path == root_) return 0;
    if (!IsInside(path)) return std::nullopt;
    int file = 0;
    for (const auto& part : std::filesystem::path(path.substr(root_.size() + 1))) {
      const auto& entries = names_[file];
      const auto it = entries.find(part.string());
      if (it == entries.end()) return std::nullopt;
      file = it->second;
    }
    return file;
  }
  std::pair<int, std::string> Split(const std::string& path) {
    const size_t slash = path.rfind('/');
    return {Find(path.substr(0, slash)).value_or(0), path.substr(slash + 1)};
  }
  int Link(const std::string& path, bool is_folder) {
    const auto [folder, name] = Split(path);
    const int file = next_file_++;
    names_[folder][name] = file;
    Add({.kind = Kind::kLink,
         .file = file,
         .folder = folder,
         .name = name,
         .is_folder = is_folder});
    return file;
  }
  void Found(const std::string& path, bool is_folder) {
    if (!IsInside(path)) return;
    const int file = Link(path, is_folder);
    if (is_folder) return;
    std::ifstream in(path, std::ios::binary);
    Add({.kind = Kind::kWrite,
         .file = file,
         .data = std::string(std::istreambuf_iterator<char>(in), {})});
  }

  const std::string root_;
  int next_file_ = 1;
  std::map<int, std::map<std::string, int>> names_;  // by folder
  std::map<int, int> open_;                          // descriptor -> file
};

Recorder* g_recorder = nullptr;

// Makes a path absolute and without "..", as the kernel resolves it; symbolic links are ignored.
std::string Resolve(int folder, const char* path) {
  std::filesystem::path whole = path;
  if (!whole.is_absolute()) {
    std::error_code error;
    const std::string base =
        folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(folder);
    whole = std::filesystem::read_symlink(base, error) / whole;
  }
  std::string text = whole.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

int Open(int folder, const char* path, int flags, mode_t mode) {
  const int fd = static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
  if (fd < 0 || g_recorder == nullptr) return fd;
  const int error = errno;
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    g_recorder->OpenedFolder(fd, Resolve(folder, path));
  } else if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_CREAT) != 0) {
    g_recorder->Opened(fd, Resolve(folder, path), (flags & O_TRUNC) != 0);
  } else {
    g_recorder->OpenedToRead(fd, Resolve(folder, path));
  }
  errno = error;
  return fd;
}

mode_t ModeOf(int flags, va_list* arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(*arguments, mode_t) : 0;
}

ssize_t Write(int fd, const void* data, size_t size, int64_t offset) {
  const ssize_t n = syscall(SYS_pwrite64, fd, data, size, offset);
  if (n > 0 && g_recorder != nullptr) {
    g_recorder->Wrote(fd, data, static_cast<size_t>(n), offset);
  }
  return n;
}

int Truncate(int fd, int64_t size) {
  const int rc = static_cast<int>(syscall(SYS_ftruncate, fd, size));
  if (rc == 0 && g_recorder != nullptr) g_recorder->Truncated(fd, size);
  return rc;
}

int Truncate(const char* path, int64_t size) {
  const int rc = static_cast<int>(syscall(SYS_truncate, path, size));
  if (rc == 0 && g_recorder != nullptr) g_recorder->Truncated(Resolve(AT_FDCWD, path), size);
  return rc;
}

int Sync(long number, int fd) {
  const int rc = static_cast<int>(syscall(number, fd));
  if (rc == 0 && g_recorder != nullptr) g_recorder->Synced(fd);
  return rc;
}

int Remove(int folder, const char* path, int flags) {
  const std::string whole = g_recorder == nullptr ? "" : Resolve(folder, path);
  const int rc = static_cast<int>(syscall(SYS_unlinkat, folder, path, flags));
  if (rc == 0 && g_recorder != nullptr) g_recorder->Removed(whole);
  return rc;
}

int Rename(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  const int rc = static_cast<int>(syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
  if (rc == 0 && g_recorder != nullptr) {
    g_recorder->Renamed(Resolve(from_folder, from), Resolve(to_folder, to));
  }
  return rc;
}

int MakeFolder(int folder, const char* path, mode_t mode) {
  const int rc = static_cast<int>(syscall(SYS_mkdirat, folder, path, mode));
  if (rc == 0 && g_recorder != nullptr) g_recorder->MadeFolder(Resolve(folder, path));
  return rc;
}

}  // namespace

RecordedFolder::RecordedFolder(const std::string& path) { g_recorder = new Recorder(path); }

RecordedFolder::~RecordedFolder() { delete std::exchange(g_recorder, nullptr); }

size_t RecordedFolder::done() const { return g_recorder->recording.operations.size(); }

Recording RecordedFolder::Stop() {
  Recording recording = std::move(g_recorder->recording);
  delete std::exchange(g_recorder, nullptr);
  return recording;
}

}  // namespace hpc::testing

// These replace the C library's functions. They are `noexcept` where its headers say so.
extern "C" {

using hpc::testing::g_recorder;

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = hpc::testing::ModeOf(flags, &arguments);
  va_end(arguments);
  return hpc::testing::Open(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = hpc::testing::ModeOf(flags, &arguments);
  va_end(arguments);
  return hpc::testing::Open(AT_FDCWD, path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = hpc::testing::ModeOf(flags, &arguments);
  va_end(arguments);
  return hpc::testing::Open(folder, path, flags, mode);
}
int close(int fd) {
  if (g_recorder != nullptr) g_recorder->Closed(fd);
  return static_cast<int>(syscall(SYS_close, fd));
}
ssize_t write(int fd, const void* data, size_t size) {
  const ssize_t n = syscall(SYS_write, fd, data, size);
  if (n > 0 && g_recorder != nullptr) {
    const int64_t end = lseek(fd, 0, SEEK_CUR);  // O_APPEND moves it, too
    g_recorder->Wrote(fd, data, static_cast<size_t>(n), end - n);
  }
  return n;
}
ssize_t pwrite(int fd, const void* data, size_t size, off_t offset) {
  return hpc::testing::Write(fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t size, off64_t offset) {
  return hpc::testing::Write(fd, data, size, offset);
}
int ftruncate(int fd, off_t size) noexcept { return hpc::testing::Truncate(fd, size); }
int ftruncate64(int fd, off64_t size) noexcept { return hpc::testing::Truncate(fd, size); }
int truncate(const char* path, off_t size) noexcept { return hpc::testing::Truncate(path, size); }
int truncate64(const char* path, off64_t size) noexcept {
  return hpc::testing::Truncate(path, size);
}
int fsync(int fd) { return hpc::testing::Sync(SYS_fsync, fd); }
int fdatasync(int fd) { return hpc::testing::Sync(SYS_fdatasync, fd); }
int syncfs(int fd) noexcept {
  if (g_recorder != nullptr) g_recorder->SyncedAll(fd);
  return 0;  // waiting for what everybody else writes would prove nothing
}
int unlink(const char* path) noexcept { return hpc::testing::Remove(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char* path, int flags) noexcept {
  return hpc::testing::Remove(folder, path, flags);
}
int rmdir(const char* path) noexcept { return hpc::testing::Remove(AT_FDCWD, path, AT_REMOVEDIR); }
int rename(const char* from, const char* to) noexcept {
  return hpc::testing::Rename(AT_FDCWD, from, AT_FDCWD, to, 0);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
  return hpc::testing::Rename(from_folder, from, to_folder, to, 0);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to,
              unsigned flags) noexcept {
  return hpc::testing::Rename(from_folder, from, to_folder, to, flags);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return hpc::testing::MakeFolder(AT_FDCWD, path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return hpc::testing::MakeFolder(folder, path, mode);
}

}  // extern "C"
