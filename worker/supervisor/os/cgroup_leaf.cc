#include "worker/supervisor/os/cgroup_leaf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "worker/loop/boot_time.h"
#include "worker/supervisor/os/small_file.h"

namespace hpc::worker {
namespace {

// A rank can nest folders as deep as it likes, but no serious program nests them deeper than this.
constexpr int kMaxDepth = 32;

std::vector<std::string> Subfolders(const std::string& path) {
  std::vector<std::string> folders;
  DIR* dir = opendir(path.c_str());
  if (dir == nullptr) return folders;
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..")
      folders.push_back(path + "/" + name);
  }
  closedir(dir);
  return folders;
}

void RemoveFolders(const std::string& path, int depth) {
  if (rmdir(path.c_str()) == 0 || depth == 0) return;
  for (const std::string& below : Subfolders(path)) RemoveFolders(below, depth - 1);
  rmdir(path.c_str());
}

void AddProcesses(const std::string& path, int depth, std::vector<int64_t>* pids) {
  const auto text = ReadSmallFile(AT_FDCWD, path + "/cgroup.procs");
  if (text) {
    for (const int64_t pid : Numbers(*text)) pids->push_back(pid);
  }
  if (depth == 0) return;
  for (const std::string& below : Subfolders(path)) AddProcesses(below, depth - 1, pids);
}

std::string FindCgroup2Mount() {
  // "31 24 0:27 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw"
  const std::string mounts = ReadSmallFile(AT_FDCWD, "/proc/self/mountinfo").value_or("");
  const size_t type = mounts.find(" - cgroup2 ");
  if (type == std::string::npos) return "";
  size_t at = mounts.rfind('\n', type) + 1;  // npos + 1 is the start of the first line
  for (int field = 0; field < 4; ++field) at = mounts.find(' ', at) + 1;
  return mounts.substr(at, mounts.find(' ', at) - at);
}

}  // namespace

std::optional<CgroupLeaf> CgroupLeaf::Make(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0) return std::nullopt;
  auto leaf = Open(path);
  if (!leaf) return std::nullopt;
  if (faccessat(leaf->dir_fd(), "cgroup.kill", W_OK, AT_EACCESS) != 0) {
    leaf->Remove();
    errno = ENOTSUP;
    return std::nullopt;
  }
  return leaf;
}

std::optional<CgroupLeaf> CgroupLeaf::Open(const std::string& path) {
  UniqueFd dir(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!dir.ok()) return std::nullopt;
  return CgroupLeaf(path, std::move(dir));
}

bool CgroupLeaf::Enter() const {
  const int fd = openat(dir_.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool entered = write(fd, "0", 1) == 1;
  close(fd);
  return entered;
}

bool CgroupLeaf::Add(int64_t pid) const {
  return WriteControlFile(dir_.get(), "cgroup.procs", std::to_string(pid));
}

void CgroupLeaf::Kill() const { WriteControlFile(dir_.get(), "cgroup.kill", "1"); }

bool CgroupLeaf::Populated() const {
  const auto events = ReadSmallFile(dir_.get(), "cgroup.events");
  return events && events->find("populated 1") != std::string::npos;
}

bool CgroupLeaf::WaitEmpty(int64_t timeout_ms) const {
  const UniqueFd events(openat(dir_.get(), "cgroup.events", O_RDONLY | O_CLOEXEC));
  const int64_t deadline = BootTimeNs() + timeout_ms * 1'000'000;
  for (;;) {
    // The file is read before it is polled, through the same descriptor: the kernel signals only
    // changes since the last reading.
    char text[256];
    const ssize_t n = pread(events.get(), text, sizeof text, 0);
    if (n < 0 || std::string(text, n).find("populated 1") == std::string::npos) return true;
    const int64_t left_ms = (deadline - BootTimeNs()) / 1'000'000;
    if (left_ms <= 0) return false;
    pollfd wait{events.get(), POLLPRI, 0};
    poll(&wait, 1, static_cast<int>(left_ms));
  }
}

std::vector<int64_t> CgroupLeaf::Processes() const {
  std::vector<int64_t> pids;
  AddProcesses(path_, kMaxDepth, &pids);
  return pids;
}

bool CgroupLeaf::HasFolders() const {
  struct stat info;
  // Each folder in it is a link to it, besides its own two links.
  return fstat(dir_.get(), &info) != 0 || info.st_nlink > 2;
}

void CgroupLeaf::Remove() { RemoveFolders(path_, kMaxDepth); }

std::string Cgroup2Mount() {
  static const std::string mount = FindCgroup2Mount();
  // It may have failed to be read, so this tries once more.
  return mount.empty() ? FindCgroup2Mount() : mount;
}

std::string CgroupOf(int64_t pid) {
  const std::string groups =
      ReadSmallFile(AT_FDCWD, "/proc/" + std::to_string(pid) + "/cgroup").value_or("");
  const size_t at = groups.rfind("0::");
  if (at == std::string::npos || (at > 0 && groups[at - 1] != '\n')) return "";
  return groups.substr(at + 3, groups.find('\n', at) - at - 3);
}

std::string OwnCgroup() { return CgroupOf(getpid()); }

std::string OwnWritableCgroup() {
  const std::string mount = Cgroup2Mount(), own = OwnCgroup();
  // Nothing above the root of a cgroup namespace ("/../x") can be reached.
  if (mount.empty() || own.empty() || own.find("/..") != std::string::npos) return "";
  const std::string path = own == "/" ? mount : mount + own;
  const bool writable =
      access(path.c_str(), W_OK) == 0 && access((path + "/cgroup.procs").c_str(), W_OK) == 0;
  return writable ? path : "";
}

}  // namespace hpc::worker
