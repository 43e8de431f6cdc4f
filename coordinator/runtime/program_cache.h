// Programs of runs that were submitted a moment ago. Placing such a run at once then needs no read
// of what has just been written.
#ifndef HPC_COORDINATOR_RUNTIME_PROGRAM_CACHE_H_
#define HPC_COORDINATOR_RUNTIME_PROGRAM_CACHE_H_

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>

#include "common/ids.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

class ProgramCache {
 public:
  explicit ProgramCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  // Drops the oldest other programs until all fit. A program larger than the cache is not kept.
  void Put(RunId run, std::shared_ptr<const RunProgram> program);
  // Null if it is not here.
  std::shared_ptr<const RunProgram> Get(RunId run) const;
  void Erase(RunId run);

  size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    RunId run = 0;
    std::shared_ptr<const RunProgram> program;
    size_t bytes = 0;
  };

  size_t max_bytes_;
  size_t bytes_ = 0;
  std::list<Entry> entries_;  // oldest first
  std::unordered_map<RunId, std::list<Entry>::iterator> by_run_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_PROGRAM_CACHE_H_
