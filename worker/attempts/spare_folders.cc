#include "worker/attempts/spare_folders.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/process/log.h"
#include "common/unique_fd.h"
#include "worker/supervisor_client/attempt_record.h"
#include "worker/supervisor_client/record.h"

namespace hpc::worker {
namespace {

// As many attempts as a PC may have in progress at a time.
constexpr size_t kMost = 32;
// The greatest length of a file that is kept. It still has what earlier users of the folder wrote
// into it; this is enough for some forty attempts.
constexpr off_t kLongest = 16 << 10;

using Names = std::vector<std::string>;

// An open folder. Since it is open, nothing else can take its place.
class OpenFolder {
 public:
  OpenFolder(int parent, const std::string& name)
      : fd_(openat(parent, name.c_str(),
                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)) {
    if (fd_.ok() && fstat(fd_.get(), &info_) != 0) fd_.Reset();
  }

  bool ok() const { return fd_.ok(); }
  int fd() const { return fd_.get(); }
  const struct stat& info() const { return info_; }
  mode_t mode() const { return info_.st_mode & 07777; }
  bool IsOurs() const { return info_.st_uid == geteuid() && info_.st_gid == getegid(); }
  bool IsEmpty() const {
    const auto names = NamesIn(fd_.get());
    return names.ok() && names->empty();
  }
  // Nobody else is let in, not even by an access control list. Others may pass through a folder of
  // ours.
  bool LetsNobodyIn() const {
    return mode() == 0700 ? flistxattr(fd_.get(), nullptr, 0) == 0 : mode() == 0711 && IsOurs();
  }
  // What chattr has set, which new files inherit.
  int Flags() const {
    int flags = 0;
    if (ioctl(fd_.get(), FS_IOC_GETFLAGS, &flags) != 0) return 0;
    return flags & (FS_FL_USER_MODIFIABLE | FS_PROJINHERIT_FL);
  }
  // The name still belongs to this folder, and no other file system is mounted there.
  bool IsStill(int parent, const std::string& name) const {
    struct stat named {
    }, above{};
    return fstatat(parent, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           fstat(parent, &above) == 0 && named.st_ino == info_.st_ino &&
           named.st_dev == info_.st_dev && named.st_dev == above.st_dev;
  }

 private:
  UniqueFd fd_;
  struct stat info_ {};
};

// Whether the file can be used again: it must be a plain file that only we own. A long one is
// deleted.
bool ServesOn(int folder, const std::string& name) {
  struct stat info {};
  const bool ours = fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                    S_ISREG(info.st_mode) && info.st_uid == geteuid() && info.st_nlink == 1 &&
                    (info.st_mode & 07777) == 0600;
  if (!ours || info.st_size <= kLongest) return ours;
  return unlinkat(folder, name.c_str(), 0) == 0;
}

// Whether the folder holds nothing but the folder `inner` and those of `files` that serve on.
bool HoldsNothingBut(int folder, const std::string& inner, const Names& files) {
  const auto names = NamesIn(folder);
  return names.ok() && std::all_of(names->begin(), names->end(), [&](const std::string& name) {
           return name == inner ||
                  (std::count(files.begin(), files.end(), name) > 0 && ServesOn(folder, name));
         });
}

// A folder, and inside it those of `inner` that are there, each in the one before.
class Nest {
 public:
  Nest(const std::string& folder, const Names& inner) {
    folders_.emplace_back(AT_FDCWD, folder);
    for (const std::string& name : inner) {
      OpenFolder next(folders_.back().fd(), name);
      if (!next.ok()) return;
      folders_.push_back(std::move(next));
      names_.push_back(name);
    }
  }

  // Whether the first of `inner` is there.
  bool ok() const { return !names_.empty(); }
  const OpenFolder& outermost() const { return folders_.front(); }
  const OpenFolder& innermost() const { return folders_.back(); }
  const Names& names() const { return names_; }
  // Whether those of `inner` belong to one account, and nobody else is let in.
  bool LetsNobodyIn() const {
    const struct stat& owner = folders_[1].info();
    return outermost().LetsNobodyIn() &&
           std::all_of(folders_.begin() + 1, folders_.end(), [&](const OpenFolder& folder) {
             return folder.LetsNobodyIn() && folder.info().st_uid == owner.st_uid &&
                    folder.info().st_gid == owner.st_gid;
           });
  }
  bool HaveFlags(int flags) const {
    return std::all_of(folders_.begin(), folders_.end(),
                       [&](const OpenFolder& folder) { return folder.Flags() == flags; });
  }
  // Whether nothing else is there, but for `files` in the outermost.
  bool HoldsNothingBut(const Names& files) const {
    return hpc::worker::HoldsNothingBut(outermost().fd(), names_[0], files) &&
           folders_[1].IsStill(outermost().fd(), names_[0]) && HoldsNothingWithin();
  }
  // The same for all but the outermost.
  bool HoldsNothingWithin() const {
    for (size_t i = 1; i < names_.size(); ++i) {
      const int folder = folders_[i].fd();
      if (!hpc::worker::HoldsNothingBut(folder, names_[i], {})) return false;
      if (!folders_[i + 1].IsStill(folder, names_[i])) return false;
    }
    return innermost().IsEmpty();
  }

 private:
  std::vector<OpenFolder> folders_;
  Names names_;  // of all but the outermost
};

bool MoveTo(const std::string& from, const std::string& to) {
  return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0;
}

}  // namespace

SpareFolders::SpareFolders(std::string state_dir) : folder_(std::move(state_dir) + "/spare") {}

std::string SpareFolders::PathOf(int64_t number) const {
  return absl::StrCat(folder_, "/", number);
}

// Removes the folders of an earlier worker. A folder that holds anything else stays: a power cut
// may have brought back the old name of a folder in which a run now has its checkpoints.
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
    // Somebody may have put a link there, which must not lead elsewhere.
    const OpenFolder ranks(AT_FDCWD, path + "/ranks");
    if (ranks.ok()) unlinkat(ranks.fd(), "home", AT_REMOVEDIR);
    for (const char* inner : {"/ranks", "/checkpoints", ""}) rmdir((path + inner).c_str());
    if (access(path.c_str(), F_OK) != 0) continue;
    LogWarning("a folder that should be empty is not, and stays", {{"folder", path}});
    int64_t number = 0;
    if (absl::SimpleAtoi(name, &number)) next_ = std::max(next_, number + 1);
  }
}

bool SpareFolders::Keep(const std::string& folder, const Names& inner, const Names& files) {
  const std::lock_guard lock(mutex_);
  Begin();
  const Nest nest(folder, inner);
  if (!nest.ok() || !nest.LetsNobodyIn()) return false;
  if (!nest.HaveFlags(OpenFolder(AT_FDCWD, folder_).Flags())) return false;
  const struct stat& info = nest.innermost().info();
  std::vector<int64_t>& spare = spare_[{nest.names(), info.st_uid, info.st_gid}];
  if (spare.size() >= kMost || !nest.HoldsNothingBut(files)) return false;
  const int64_t number = next_++;
  if (!MoveTo(folder, PathOf(number))) return false;
  // Nobody can find the folder under its new name. Until it was moved, somebody may have put
  // something there.
  const bool is_free =
      nest.outermost().IsOurs() ? nest.HoldsNothingWithin() : nest.HoldsNothingBut(files);
  if (!is_free) {
    (void)MoveTo(PathOf(number), folder);
    return false;
  }
  spare.push_back(number);
  return true;
}

bool SpareFolders::Take(const std::string& folder, const Names& inner, const AccountIds* account) {
  const std::lock_guard lock(mutex_);
  Begin();
  const Kind kind{inner, account == nullptr ? geteuid() : account->uid,
                  account == nullptr ? getegid() : account->gid};
  for (std::vector<int64_t>& spare = spare_[kind]; !spare.empty(); spare.pop_back()) {
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
