#include "worker/supervisor/held_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "worker/supervisor/cgroup_leaf.h"
#include "worker/supervisor/cgroup_name.h"
#include "worker/supervisor/foreign_file.h"
#include "worker/supervisor/privileges.h"
#include "worker/supervisor/record.h"

namespace hpc::worker {
namespace {

std::string RecordOf(const std::string& dir) { return RecordPath(dir, "cgroup"); }

}  // namespace

std::string MakeHeldCgroup(const std::string& parent, const std::string& name,
                           const std::string& dir) {
  if (parent.empty()) return "";
  auto cgroup = CgroupLeaf::Make(
      absl::StrCat(parent, "/", AttemptCgroupName(name, dir, absl::StrCat("of-", getpid()))));
  if (!cgroup) return "";
  if (LendCgroup(cgroup->path()).ok()) return cgroup->path();
  cgroup->Remove();
  return "";
}

absl::Status LendCgroup(const std::string& cgroup) {
  // Those that /sys/kernel/cgroup/delegate names, and not cgroup.kill: that stays ours.
  for (const char* file : {"/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control", ""}) {
    const std::string path = cgroup + file;
    if (chown(path.c_str(), kSupervisorUid, static_cast<gid_t>(-1)) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, "chown " + path);
    }
  }
  return absl::OkStatus();
}

absl::Status RecordHeldCgroup(const std::string& dir, const std::string& cgroup) {
  const std::string path = RecordOf(dir);
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.ok()) return ErrnoStatus(errno, "make " + path);
  if (write(fd.get(), cgroup.data(), cgroup.size()) != static_cast<ssize_t>(cgroup.size())) {
    return ErrnoStatus(errno, "write " + path);
  }
  return absl::OkStatus();
}

std::string RecordedHeldCgroup(const std::string& dir) {
  return ReadForeignFile(RecordOf(dir), PATH_MAX).value_or("");
}

}  // namespace hpc::worker
