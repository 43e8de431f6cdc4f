#include "worker/supervisor/held_cgroup.h"

#include <errno.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "worker/supervisor/attempt_record.h"
#include "worker/supervisor/cgroup_leaf.h"
#include "worker/supervisor/cgroup_name.h"
#include "worker/supervisor/privileges.h"
#include "worker/supervisor/record.h"

namespace hpc::worker {
namespace {

constexpr char kCgroup[] = "cgroup";  // in the attempt's record

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
  return AddToRecord(RecordPath(dir, ""), kCgroup, cgroup);
}

std::string RecordedHeldCgroup(const std::string& dir) {
  return ReadRecord(RecordPath(dir, ""), kCgroup).value_or("");
}

}  // namespace hpc::worker
