// Folders of attempts and runs that are over, which the next ones take by a new name. Where many
// short runs follow each other, making and deleting them can be half of what a worker does
// (docs/PERFORMANCE.md).
//
//   <state-dir>/spare/7/     one that was an attempt's, with its empty folder ranks/ and files of
//                            its own that the next one begins anew
//   <state-dir>/spare/8/     one that was a run's, with its empty folder checkpoints/
#ifndef HPC_WORKER_RUNTIME_SPARE_FOLDERS_H_
#define HPC_WORKER_RUNTIME_SPARE_FOLDERS_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hpc::worker {

// For any threads.
class SpareFolders {
 public:
  explicit SpareFolders(std::string state_dir);

  // Takes `folder` away if it holds the folder `inner`, and that nothing at all, and besides at
  // most plain files of the worker's own with names of `files`. All is the worker's own from then
  // on, whoever's the folders were, and leads nowhere else. False: `folder` is where it was, and
  // its owner's.
  bool Keep(const std::string& folder, const std::string& inner,
            const std::vector<std::string>& files = {});

  // Puts one there that was kept with such an `inner`, both the worker's own and of mode 0700. What
  // is in its files was another's. False: there is none, or something is there already.
  bool Take(const std::string& folder, const std::string& inner);

  // Names that were taken from here stay taken after a power cut.
  absl::Status Sync() const;

 private:
  void Begin();  // once
  std::string PathOf(int64_t number) const;

  const std::string folder_;
  std::mutex mutex_;
  bool begun_ = false;
  int64_t next_ = 0;
  std::map<std::string, std::vector<int64_t>> spare_;  // numbers, by inner
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_RUNTIME_SPARE_FOLDERS_H_
