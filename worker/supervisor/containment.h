// Holds all descendants of the ranks, and ends them.
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

// The calling process is always the subreaper of its descendants: an orphan becomes its child, and
// waitid(2) can prove that none is left. A cgroup adds two things: all processes die at one stroke,
// and they can still be found if the supervisor itself is killed.
class Containment {
 public:
  // Makes the caller a subreaper.
  Containment();

  // Makes a new folder `name` in `parent`, in which ranks are born. False: errno says why not, and
  // only the subreaper holds the ranks.
  bool UseCgroup(const std::string& parent, const std::string& name);
  // The same below the calling process's own scope `unit`. False: systemd has not moved the process
  // there yet (ESRCH), or errno says why the scope is of no use.
  bool UseScope(const std::string& unit);

  // "scope", "cgroup" or "subreaper".
  const std::string& kind() const { return kind_; }
  const CgroupLeaf* leaf() const { return leaf_ ? &*leaf_ : nullptr; }
  // Makes a cgroup for a resident, beside the leaf. nullptr: there is no leaf, or it cannot be
  // made. It is there until EndKept().
  const CgroupLeaf* MakeKept();
  // SIGKILLs what lives in it.
  void EndKept();
  // Whether that process lives in it alone.
  bool KeepsOnly(int64_t pid) const;

  // Reaps what has ended, and calls `on_reaped` for each process (pid, wait status, rusage). True:
  // nothing is left but the resident (descendants.h).
  using OnReaped = std::function<void(int64_t pid, int status, const rusage& usage)>;
  bool Reap(const OnReaped& on_reaped);

  // SIGKILLs everything. A process that forks may escape, so this must be repeated until Reap
  // returns true.
  void Kill();
  std::vector<int64_t> Survivors() const;
  // To be called once Reap has found nothing left. Whether a cgroup showed that, and the cgroup can
  // be used again. It cannot if it was killed: Linux (6.18) kills whatever is born into it later.
  bool IsTidy() const { return leaf_ && !killed_ && !leaf_->HasFolders(); }
  // Removes the cgroup when nothing is left in it.
  void Remove();

 private:
  bool Populated() const;

  std::string kind_ = "subreaper";
  bool killed_ = false;
  std::optional<CgroupLeaf> leaf_, kept_;
  int kept_so_far_ = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CONTAINMENT_H_
