#include "worker/runtime/spare_folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/log.h"
#include "common/unique_fd.h"
#include "worker/supervisor/attempt_record.h"
#include "worker/supervisor/record.h"

namespace hpc::worker {
namespace {

// As many as a PC may have under way at a time.
constexpr size_t kMost = 32;

using Names = std::vector<std::string>;

UniqueFd OpenFolder(int parent, const std::string& name) {
  return UniqueFd(
      openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

bool IsEmpty(int folder) {
  const auto names = NamesIn(folder);
  return names.ok() && names->empty();
}

bool IsOwnPlainFile(int folder, const std::string& name) {
  struct stat info {};
  return fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
         info.st_uid == geteuid() && info.st_nlink == 1 && (info.st_mode & 07777) == 0600;
}

bool HoldsNothingBut(int folder, const std::string& inner, const Names& files) {
  const auto names = NamesIn(folder);
  return names.ok() && std::all_of(names->begin(), names->end(), [&](const std::string& name) {
           return name == inner || (std::count(files.begin(), files.end(), name) > 0 &&
                                    IsOwnPlainFile(folder, name));
         });
}

// A folder whose owner is put back unless it is kept.
class OwnedFolder {
 public:
  OwnedFolder(int parent, const std::string& name) : fd_(OpenFolder(parent, name)) {
    if (fd_.ok() && fstat(fd_.get(), &info_) != 0) fd_.Reset();
  }
  ~OwnedFolder() {
    if (!owned_ || kept_) return;
    (void)fchown(fd_.get(), info_.st_uid, info_.st_gid);
  }
  OwnedFolder(const OwnedFolder&) = delete;
  OwnedFolder& operator=(const OwnedFolder&) = delete;

  int fd() const { return fd_.get(); }
  bool ok() const { return fd_.ok(); }
  bool Own() {
    if (info_.st_uid == geteuid() && info_.st_gid == getegid()) return true;
    owned_ = fchown(fd_.get(), geteuid(), getegid()) == 0;
    return owned_;
  }
  // Whoever it was may have let others in, by its mode or by a list.
  bool Close() const {
    const bool closed = (info_.st_mode & 07777) == 0700 || fchmod(fd_.get(), 0700) == 0;
    return closed && flistxattr(fd_.get(), nullptr, 0) == 0;
  }
  // Nothing else has come under that name, nor another file system there.
  bool IsStill(int parent, const std::string& name) const {
    struct stat named {
    }, above{};
    return fstatat(parent, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(parent, &above) == 0 && named.st_ino == info_.st_ino &&
           named.st_dev == info_.st_dev && named.st_dev == above.st_dev;
  }
  void Keep() { kept_ = true; }

 private:
  UniqueFd fd_;
  struct stat info_ {};
  bool owned_ = false;
  bool kept_ = false;
};

bool MoveTo(const std::string& from, const std::string& to) {
  return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0;
}

}  // namespace

SpareFolders::SpareFolders(std::string state_dir) : folder_(std::move(state_dir) + "/spare") {}

std::string SpareFolders::PathOf(int64_t number) const {
  return absl::StrCat(folder_, "/", number);
}

// Those of an earlier worker go. What holds anything else stays: a power cut may have brought the
// old name of a folder back that a run has its checkpoints in.
void SpareFolders::Begin() {
  if (std::exchange(begun_, true)) return;
  const auto left = NamesIn(folder_);
  if (!left.ok()) {
    (void)MakeDirs(folder_, 0700);
    return;
  }
  for (const std::string& name : *left) {
    const std::string path = absl::StrCat(folder_, "/", name);
    for (const char* file : {kRecordName, kJournalName}) {
      unlink(absl::StrCat(path, "/", file).c_str());
    }
    for (const char* inner : {"/ranks", "/checkpoints", ""}) rmdir((path + inner).c_str());
    if (access(path.c_str(), F_OK) != 0) continue;
    LogWarning("a folder that should be empty is not, and stays", {{"folder", path}});
    int64_t number = 0;
    if (absl::SimpleAtoi(name, &number)) next_ = std::max(next_, number + 1);
  }
}

bool SpareFolders::Keep(const std::string& folder, const std::string& inner, const Names& files) {
  const std::lock_guard lock(mutex_);
  Begin();
  std::vector<int64_t>& spare = spare_[inner];
  if (spare.size() >= kMost) return false;
  OwnedFolder outer(AT_FDCWD, folder);
  if (!outer.ok() || !HoldsNothingBut(outer.fd(), inner, files)) return false;
  OwnedFolder within(outer.fd(), inner);
  if (!within.ok() || !IsEmpty(within.fd())) return false;
  // Once they are ours nobody can put anything there any more; until then somebody may have.
  if (!outer.Own() || !within.Own() || !outer.Close() || !within.Close()) return false;
  if (!HoldsNothingBut(outer.fd(), inner, files) || !IsEmpty(within.fd())) return false;
  if (!within.IsStill(outer.fd(), inner)) return false;
  const int64_t number = next_++;
  if (!MoveTo(folder, PathOf(number))) return false;
  outer.Keep();
  within.Keep();
  spare.push_back(number);
  return true;
}

bool SpareFolders::Take(const std::string& folder, const std::string& inner) {
  const std::lock_guard lock(mutex_);
  Begin();
  for (std::vector<int64_t>& spare = spare_[inner]; !spare.empty(); spare.pop_back()) {
    if (MoveTo(PathOf(spare.back()), folder)) {
      spare.pop_back();
      return true;
    }
    if (errno == EEXIST) return false;
  }
  return false;
}

absl::Status SpareFolders::Sync() const {
  const absl::Status synced = hpc::Sync(folder_);
  return absl::IsNotFound(synced) ? absl::OkStatus() : synced;
}

}  // namespace hpc::worker
