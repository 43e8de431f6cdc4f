// Folders of attempts and runs that are over. The next attempts and runs take them, under a new
// name. Where many short runs follow each other, making and deleting folders can be half of what a
// worker does (docs/PERFORMANCE.md).
//
//   <state-dir>/spare/7/     one that was an attempt's: with its empty folder ranks/, or
//   ranks/home/
//                            if its account has no home, and with files of its own that the next
//                            one begins anew
//   <state-dir>/spare/8/     one that was a run's, with its empty folder checkpoints/
#ifndef HPC_WORKER_ATTEMPTS_SPARE_FOLDERS_H_
#define HPC_WORKER_ATTEMPTS_SPARE_FOLDERS_H_

#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "worker/supervisor/os/privileges.h"

namespace hpc::worker {

// May be used from any thread.
class SpareFolders {
 public:
  explicit SpareFolders(std::string state_dir);

  // Takes `folder` away as a spare one. It must hold the first folder of `inner`, which may hold
  // the second, and so on. The last that is there must be empty, and nothing else may be in any of
  // them, but for plain files of the worker's own in `folder`, with names in `files`; long ones are
  // deleted. Nobody else may have been let into any of them, and no flag of chattr may have been
  // set. Returns false if it was left where it was.
  bool Keep(const std::string& folder, const std::vector<std::string>& inner,
            const std::vector<std::string>& files = {});

  // Puts a spare folder at `folder`. It was kept with just these folders `inner` of the same
  // account (nullptr: ours), and its owners and modes are as they were. Its files still hold what
  // an earlier user wrote. Returns false if there is no such spare, or if something is at `folder`
  // already.
  bool Take(const std::string& folder, const std::vector<std::string>& inner,
            const AccountIds* account);

  // Makes it durable that folders were taken from here, so that a power cut does not bring back
  // their old names.
  absl::Status Sync() const;

 private:
  void Begin();  // once
  std::string PathOf(int64_t number) const;

  const std::string folder_;
  std::mutex mutex_;
  bool begun_ = false;
  int64_t next_ = 0;
  struct Kind {
    std::vector<std::string> inner;
    uint32_t uid, gid;
    auto operator<=>(const Kind&) const = default;
  };
  std::map<Kind, std::vector<int64_t>> spare_;  // numbers
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_SPARE_FOLDERS_H_
