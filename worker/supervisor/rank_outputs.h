// All outputs of the ranks: when to read them, and when to tell how they grew.
#ifndef HPC_WORKER_SUPERVISOR_RANK_OUTPUTS_H_
#define HPC_WORKER_SUPERVISOR_RANK_OUTPUTS_H_

#include <cstdint>
#include <vector>

#include "worker/supervisor/event_feed.h"
#include "worker/supervisor/journal_file.h"
#include "worker/supervisor/output_stream.h"
#include "worker/supervisor/poller.h"
#include "worker/supervisor/spec.h"

namespace hpc::worker {

class RankOutputs {
 public:
  explicit RankOutputs(Poller* poller) : poller_(poller) {}

  // Two streams for each rank: stdout, stderr. False: errno says why.
  bool Open(const std::vector<RankSpec>& ranks, int64_t limit);
  const std::vector<OutputStream>& streams() const { return streams_; }
  const OutputStream& stdout_of(size_t rank) const { return streams_[2 * rank]; }
  const OutputStream& stderr_of(size_t rank) const { return streams_[2 * rank + 1]; }

  // Once all ranks hold their ends.
  void Watch();
  // Nobody is left who could write.
  void Finish();

  // Looks again at streams that were left alone for a moment.
  void Resume(int64_t now);
  // Tells what grew, each stream at most every 20 ms and at its end; a cut goes into the journal.
  void Tell(int64_t now, EventFeed* feed, JournalFile* journal);
  int64_t NextDeadline() const;

 private:
  struct Care {
    bool watched = false;
    bool outdated = false;  // grown since it was told
    int64_t told_ns = 0;    // when it was last told
    int64_t pumped_ns = 0;  // when it last had something
    int64_t resume_ns = 0;  // when to look again, unless watched
  };
  void Watch(size_t stream);
  void OnReadable(size_t stream);

  Poller* poller_;
  std::vector<OutputStream> streams_;
  std::vector<Care> cares_;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_RANK_OUTPUTS_H_
