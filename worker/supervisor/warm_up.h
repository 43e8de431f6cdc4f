// When a supervisor starts the process that makes the ranks of later attempts: some time after the
// ranks of this one were started, since they need the processor first, or when they have ended.
#ifndef HPC_WORKER_SUPERVISOR_WARM_UP_H_
#define HPC_WORKER_SUPERVISOR_WARM_UP_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "worker/supervisor/containment.h"
#include "worker/supervisor/output/writer_thread.h"
#include "worker/supervisor/rank_launch.h"
#include "worker/supervisor/warm_parent.h"

namespace hpc::worker {

class WarmUp {
 public:
  // All outlive it.
  WarmUp(WarmParent* parent, Containment* containment, WriterThread* writer)
      : parent_(parent), containment_(containment), writer_(writer) {}

  // The variable that tells a rank's Python where to note that it runs our sitecustomize.py.
  static std::string NoteVariable(const std::string& attempt_dir);

  // The first rank of the node was started in the ordinary way, as process `pid`. Does nothing if
  // it is no Python that would run our sitecustomize.py.
  void Begin(const LaunchPlan& plan, int64_t pid, int64_t now_ns);
  void Advance(int64_t now_ns);
  int64_t NextDeadline() const { return look_ns_; }
  // The ranks have ended: lets the writer look for the note at once, if it has not looked.
  void LookNow();
  // To be called once the writer is idle: starts the process if there was a note.
  void Finish();
  // The process is not to be started any more.
  void Forget();

 private:
  WarmParent* const parent_;
  Containment* const containment_;
  WriterThread* const writer_;
  LaunchPlan plan_;
  RankSpec rank_;
  std::vector<std::string> added_env_;
  size_t words_ = 0;  // see WarmKeyOf
  int64_t pid_ = -1;  // -1: nothing is to be done
  int64_t look_ns_ = std::numeric_limits<int64_t>::max();
  std::shared_ptr<bool> noted_;  // null: nobody has looked
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_WARM_UP_H_
