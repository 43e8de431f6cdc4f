#include "worker/supervisor/containment.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>

#include "worker/supervisor/descendants.h"
#include "worker/supervisor/os/cgroup_name.h"
#include "worker/supervisor/os/privileges.h"

namespace hpc::worker {

Containment::Containment() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool Containment::UseCgroup(const std::string& parent, const std::string& name) {
  const OnOwnBehalf supervisor;
  leaf_ = CgroupLeaf::Make(parent + "/" + name);
  if (!leaf_) return false;
  kind_ = "cgroup";
  return true;
}

bool Containment::UseScope(const std::string& unit) {
  const std::string own = OwnCgroup();
  if (own.size() <= unit.size() || own.compare(own.size() - unit.size(), unit.size(), unit) != 0) {
    errno = ESRCH;
    return false;
  }
  if (!UseCgroup(Cgroup2Mount() + own, kRanksCgroup)) return false;
  kind_ = "scope";
  return true;
}

bool Containment::Reap(const OnReaped& on_reaped) {
  int status = 0;
  rusage usage{};
  for (;;) {
    const pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &usage);
    if (pid < 0 && errno == EINTR) continue;
    if (pid < 0) return errno == ECHILD && !Populated();
    if (pid == 0) return Resident() >= 0 && OwnChildren().empty() && !Populated();
    if (pid == Resident()) {
      SetResident(-1);
    } else {
      on_reaped(pid, status, usage);
    }
  }
}

bool Containment::Populated() const { return leaf_ && leaf_->Populated(); }

const CgroupLeaf* Containment::KeptLeaf() {
  const OnOwnBehalf supervisor;
  if (leaf_ && !kept_) kept_ = CgroupLeaf::Make(leaf_->path() + kKeptCgroup);
  return kept_ ? &*kept_ : nullptr;
}

void Containment::Kill() {
  killed_ = true;
  if (leaf_) {
    const OnOwnBehalf supervisor;
    leaf_->Kill();
  }
  // Kills those that a rank moved out of its cgroup, as root can.
  KillDescendants();
}

std::vector<int64_t> Containment::Survivors() const {
  std::vector<int64_t> pids = Descendants();
  if (leaf_) {
    for (const int64_t pid : leaf_->Processes()) pids.push_back(pid);
  }
  std::sort(pids.begin(), pids.end());
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

void Containment::Remove() {
  const OnOwnBehalf supervisor;
  for (auto* leaf : {&leaf_, &kept_}) {
    if (*leaf) (*leaf)->Remove();
    leaf->reset();
  }
  kind_ = "subreaper";
}

}  // namespace hpc::worker
