// Folders of attempts and runs that are over, which the next ones take by a new name. Where many
// short runs follow each other, making and deleting them can be half of what a worker does
// (docs/PERFORMANCE.md).
//
//   <state-dir>/spare/7/     one that was an attempt's, with its empty folder ranks/ and files of
//                            its own that the next one begins anew
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

// For any threads.
class SpareFolders {
 public:
  explicit SpareFolders(std::string state_dir);

  // Takes `folder` away if it holds the folder `inner`, and that nothing at all, and besides at
  // most plain files of the worker's own with names of `files`, of which long ones are deleted, and
  // if others were not let into it. False: it is where it was.
  bool Keep(const std::string& folder, const std::string& inner,
            const std::vector<std::string>& files = {});

  // Puts one there that was kept with such an `inner` of the same account (nullptr: ours), its
  // owners and modes as they were. What is in its files was another's. False: there is none, or
  // something is there already.
  bool Take(const std::string& folder, const std::string& inner, const AccountIds* account);

  // Names that were taken from here stay taken after a power cut.
  absl::Status Sync() const;

 private:
  void Begin();  // once
  std::string PathOf(int64_t number) const;

  const std::string folder_;
  std::mutex mutex_;
  bool begun_ = false;
  int64_t next_ = 0;
  struct Kind {
    std::string inner;
    uint32_t uid, gid;
    auto operator<=>(const Kind&) const = default;
  };
  std::map<Kind, std::vector<int64_t>> spare_;  // numbers
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_ATTEMPTS_SPARE_FOLDERS_H_
