// The cgroup v2 folder that holds the processes of one attempt. What is born inside stays inside.
#ifndef HPC_WORKER_SUPERVISOR_OS_CGROUP_LEAF_H_
#define HPC_WORKER_SUPERVISOR_OS_CGROUP_LEAF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace hpc::worker {

class CgroupLeaf {
 public:
  // Makes the folder. nullopt: errno says why not. ENOTSUP means that the kernel (before 5.14)
  // cannot kill a cgroup at once.
  static std::optional<CgroupLeaf> Make(const std::string& path);
  // Opens a folder that another process made. nullopt: it does not exist any more.
  static std::optional<CgroupLeaf> Open(const std::string& path);

  const std::string& path() const { return path_; }
  int dir_fd() const { return dir_.get(); }

  // Moves the calling process into it. For the child of a fork: makes only system calls, and
  // allocates no memory.
  bool Enter() const;
  // Moves that process into it. False: errno says why not.
  bool Add(int64_t pid) const;
  // SIGKILLs everything inside, including what is being forked at this moment.
  void Kill() const;
  // Whether a process lives inside; zombies do not count.
  bool Populated() const;
  // Waits until nothing lives inside, for `timeout_ms` at most. False: something still does.
  bool WaitEmpty(int64_t timeout_ms) const;
  // The processes that live inside, including those in folders that the ranks made below it.
  std::vector<int64_t> Processes() const;
  // Whether there are folders in it.
  bool HasFolders() const;
  // Removes the empty folder and those below it.
  void Remove();

 private:
  CgroupLeaf(std::string path, UniqueFd dir) : path_(std::move(path)), dir_(std::move(dir)) {}
  std::string path_;
  UniqueFd dir_;
};

// Where cgroup v2 is mounted: "/sys/fs/cgroup", "/sys/fs/cgroup/unified", or "" if nowhere. A mount
// found by this process once is not looked for again.
std::string Cgroup2Mount();

// A process's folder below that mount ("/hpc.slice/x.scope"), or "" if it has none.
std::string CgroupOf(int64_t pid);
std::string OwnCgroup();

// The path of the calling process's folder if it may make folders in it and move processes there;
// otherwise "".
std::string OwnWritableCgroup();

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OS_CGROUP_LEAF_H_
