#include "worker/os/shared_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "worker/supervisor/os/process_stat.h"

namespace hpc::worker {
namespace {

bool IsWordChar(char c) { return absl::ascii_isalnum(c) || c == '_'; }
bool IsHex(char c) { return absl::ascii_isxdigit(c); }

// The beginning of a name, and what follows: so many characters of this kind.
struct Pattern {
  absl::string_view beginning;
  size_t length;
  bool (*is_of_kind)(char);
};
// These are the shared memory and the semaphores of multiprocessing, and the memory of NCCL.
constexpr Pattern kPatterns[] = {
    {"psm_", 8, IsHex}, {"sem.mp-", 8, IsWordChar}, {"nccl-", 6, IsWordChar}};

// Whether it is "<beginning><number of a process><separator>...", as of torch and joblib (loky).
bool NamesProcess(absl::string_view name, absl::string_view beginning, char separator) {
  if (!absl::ConsumePrefix(&name, beginning)) return false;
  const size_t digits =
      std::find_if_not(name.begin(), name.end(), absl::ascii_isdigit) - name.begin();
  return digits > 0 && digits + 1 < name.size() && name[digits] == separator;
}

bool IsOfLibrary(absl::string_view name) {
  for (const Pattern& pattern : kPatterns) {
    absl::string_view rest = name;
    if (absl::ConsumePrefix(&rest, pattern.beginning) && rest.size() == pattern.length &&
        std::all_of(rest.begin(), rest.end(), pattern.is_of_kind)) {
      return true;
    }
  }
  return NamesProcess(name, "torch_", '_') || NamesProcess(name, "sem.loky-", '-');
}

// Calls `see` for each entry until it returns false.
void ForEachEntry(const char* dir, const std::function<bool(const char* name, int dir_fd)>& see) {
  DIR* const entries = opendir(dir);
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    if (!see(entry->d_name, dirfd(entries))) break;
  }
  closedir(entries);
}

bool AnyProcessOf(uid_t account) {
  bool any = false;
  ForEachEntry("/proc", [&](const char* name, int) {
    int64_t pid = 0;
    any = absl::SimpleAtoi(name, &pid) && RealUid(pid) == account;
    return !any;
  });
  return any;
}

}  // namespace

SharedMemoryRemoved RemoveSharedMemory(const std::string& dir, uid_t account) {
  struct File {
    std::string name;
    int64_t bytes;
  };
  std::vector<File> left;
  ForEachEntry(dir.c_str(), [&](const char* name, int dir_fd) {
    struct stat info;
    if (IsOfLibrary(name) && fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(info.st_mode) && info.st_uid == account) {
      left.push_back({name, int64_t{info.st_blocks} * 512});
    }
    return true;
  });
  SharedMemoryRemoved removed;
  if (left.empty() || AnyProcessOf(account)) return removed;
  for (const File& file : left) {
    if (unlink((dir + "/" + file.name).c_str()) != 0) continue;
    ++removed.files;
    removed.bytes += file.bytes;
  }
  return removed;
}

}  // namespace hpc::worker
