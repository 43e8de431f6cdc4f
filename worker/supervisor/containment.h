// Holds all that descends from the ranks, and ends it.
#ifndef HPC_WORKER_SUPERVISOR_CONTAINMENT_H_
#define HPC_WORKER_SUPERVISOR_CONTAINMENT_H_

#include <sys/resource.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "worker/supervisor/os/cgroup_leaf.h"

namespace hpc::worker {

// The calling process is the subreaper of its descendants in every case, so that an orphan becomes
// its child and waitid(2) can prove that none is left. A cgroup adds that all die in one stroke,
// and that they can still be found should the supervisor itself be killed.
class Containment {
 public:
  // Makes the caller a subreaper.
  Containment();

  // Ranks go into a new folder `name` of `parent`. False: errno says why not; the ranks are then
  // held by the subreaper alone.
  bool UseCgroup(const std::string& parent, const std::string& name);
  // The same below the calling process's own scope `unit`, once systemd has moved it there; false
  // as long as it has not (ESRCH), or with the reason why the scope is of no use.
  bool UseScope(const std::string& unit);

  // "scope", "cgroup" or "subreaper".
  const std::string& kind() const { return kind_; }
  const CgroupLeaf* leaf() const { return leaf_ ? &*leaf_ : nullptr; }

  // Reaps what has ended, telling each to `on_reaped` (pid, wait status, rusage). True: nothing is
  // left.
  using OnReaped = std::function<void(int64_t pid, int status, const rusage& usage)>;
  bool Reap(const OnReaped& on_reaped);

  // SIGKILLs everything. One that forks may slip through: repeat until Reap says true.
  void Kill();
  std::vector<int64_t> Survivors() const;
  // Once Reap has said that nothing is left: whether that was seen by a cgroup, which is as it was
  // when it was made. One that was killed is not: Linux (6.18) kills whatever is born into it
  // later.
  bool IsTidy() const { return leaf_ && !killed_ && !leaf_->HasFolders(); }
  // Removes the cgroup when nothing is left in it.
  void Remove();

 private:
  std::string kind_ = "subreaper";
  bool killed_ = false;
  std::optional<CgroupLeaf> leaf_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CONTAINMENT_H_
