#include "worker/supervisor_client/held_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "worker/supervisor/os/cgroup_leaf.h"
#include "worker/supervisor/os/cgroup_name.h"
#include "worker/supervisor/os/privileges.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor/os/small_file.h"
#include "worker/supervisor_client/attempt_record.h"
#include "worker/supervisor_client/record.h"
#include "worker/supervisor_client/strays.h"

namespace hpc::worker {
namespace {

constexpr char kCgroup[] = "cgroup";  // in the attempt's record

}  // namespace

std::string MakeHeldCgroup(const std::string& parent, const std::string& number,
                           const std::string& listener) {
  if (parent.empty()) return "";
  const std::string maker = absl::StrCat("of-", getpid());
  auto cgroup =
      CgroupLeaf::Make(absl::StrCat(parent, "/", AttemptCgroupName(number, listener, maker)));
  if (!cgroup) return "";
  if (LendCgroup(cgroup->path()).ok()) return cgroup->path();
  cgroup->Remove();
  return "";
}

bool HoldsNothingBut(const std::string& cgroup, int64_t pid) {
  const auto leaf = CgroupLeaf::Open(cgroup);
  if (!leaf) return false;
  std::vector<int64_t> processes = leaf->Processes();
  // No rank can move there: the folders are the supervisor's.
  const std::string kept = absl::StrCat(kRanksCgroup, kKeptCgroup);
  for (const std::string& name : NamesIn(cgroup).value_or(std::vector<std::string>())) {
    if (!absl::StartsWith(name, kept)) continue;
    const auto folder = CgroupLeaf::Open(absl::StrCat(cgroup, "/", name));
    for (const int64_t resident : folder ? folder->Processes() : std::vector<int64_t>()) {
      processes.erase(std::remove(processes.begin(), processes.end(), resident), processes.end());
    }
  }
  return processes == std::vector<int64_t>{pid};
}

std::vector<std::string> TitlesIn(const std::string& cgroup) {
  std::vector<std::string> titles;
  // Ranks that are held at all are in a folder below this one.
  const auto processes = ReadSmallFile(AT_FDCWD, cgroup + "/cgroup.procs");
  for (const int64_t pid : Numbers(processes.value_or(""))) {
    if (RealUid(pid) != kSupervisorUid) continue;
    if (auto title = SupervisorTitle(pid)) titles.push_back(*std::move(title));
  }
  return titles;
}

absl::Status LendCgroup(const std::string& cgroup) {
  // These are the files that /sys/kernel/cgroup/delegate names, without cgroup.kill, which stays
  // ours.
  for (const char* file : {"/cgroup.procs", "/cgroup.threads", "/cgroup.subtree_control", ""}) {
    const std::string path = cgroup + file;
    if (chown(path.c_str(), kSupervisorUid, static_cast<gid_t>(-1)) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, "chown " + path);
    }
  }
  return absl::OkStatus();
}

absl::Status RecordHeldCgroup(const std::string& dir, const std::string& cgroup) {
  return AddToRecord(RecordPath(dir, ""), {kCgroup, cgroup});
}

std::string RecordedHeldCgroup(const std::string& dir) {
  return ReadRecord(RecordPath(dir, ""), kCgroup).value_or("");
}

}  // namespace hpc::worker
