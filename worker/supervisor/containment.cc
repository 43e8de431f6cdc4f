#include "worker/supervisor/containment.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>

#include "worker/supervisor/descendants.h"
#include "worker/supervisor/os/cgroup_name.h"
#include "worker/supervisor/os/privileges.h"

namespace hpc::worker {
namespace {

// Its processes mostly end within a millisecond.
constexpr int64_t kKeptPatienceMs = 50;

}  // namespace

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

// Each has a name of its own, since a cgroup that was killed is of no use any more (IsTidy).
const CgroupLeaf* Containment::MakeKept() {
  EndKept();
  if (!leaf_) return nullptr;
  const OnOwnBehalf supervisor;
  kept_ = CgroupLeaf::Make(leaf_->path() + kKeptCgroup + std::to_string(++kept_so_far_));
  return kept_ ? &*kept_ : nullptr;
}

void Containment::EndKept() {
  if (!kept_) return;
  const OnOwnBehalf supervisor;
  kept_->Kill();
  (void)kept_->WaitEmpty(kKeptPatienceMs);
  kept_->Remove();
  kept_.reset();
}

bool Containment::KeepsOnly(int64_t pid) const {
  const OnOwnBehalf supervisor;
  return kept_ && kept_->Processes() == std::vector<int64_t>{pid};
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
  EndKept();
  const OnOwnBehalf supervisor;
  if (leaf_) leaf_->Remove();
  leaf_.reset();
  kind_ = "subreaper";
}

}  // namespace hpc::worker
