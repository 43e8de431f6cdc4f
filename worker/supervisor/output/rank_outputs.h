// All outputs of the ranks: when to read them, and when to tell how they grew.
#ifndef HPC_WORKER_SUPERVISOR_OUTPUT_RANK_OUTPUTS_H_
#define HPC_WORKER_SUPERVISOR_OUTPUT_RANK_OUTPUTS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/supervisor/os/poller.h"
#include "worker/supervisor/output/event_book.h"
#include "worker/supervisor/output/event_feed.h"
#include "worker/supervisor/output/output_stream.h"
#include "worker/supervisor/output/writer_thread.h"
#include "worker/supervisor/protocol/spec.h"

namespace hpc::worker {

// The writer thread does the reading and writing. A stream whose file hangs is not read meanwhile;
// its rank waits once the pipe is full.
class RankOutputs {
 public:
  RankOutputs(Poller* poller, WriterThread* writer) : poller_(poller), writer_(writer) {}

  // Opens two streams for each rank: stdout and stderr. False: errno says why.
  bool Open(const std::vector<RankSpec>& ranks, int64_t limit);
  // Their states when the writer thread last finished with them.
  const std::vector<OutputGrown>& states() const { return states_; }
  const OutputStream& stdout_of(size_t rank) const { return *streams_[2 * rank]; }
  const OutputStream& stderr_of(size_t rank) const { return *streams_[2 * rank + 1]; }

  // To be called once all ranks hold their ends.
  void Watch();
  // Nobody is left who could write.
  void Finish();
  // To be called after Finish: whether everything that was written is in the files.
  bool Finished() const;
  // Stops waiting for that: tells that all streams have ended as they are.
  void GiveUp();

  // Looks again at the streams that were left alone for a moment.
  void Resume(int64_t now);
  // Tells what grew, each stream at most every 20 ms and at its end. A cut goes into the journal.
  // So does, at most every 10 s, the news that the disk begins to refuse output or takes it again.
  void Tell(int64_t now, EventFeed* feed, EventBook* book);
  int64_t NextDeadline() const;

 private:
  struct Care {
    bool watched = false;                // the poller has it, armed or not
    bool pumping = false;                // the writer thread has it
    bool quick = false;                  // it had something when last looked at
    bool outdated = false;               // it has grown since it was told
    int64_t told_ns = 0;                 // when it was last told
    int64_t pumped_ns = 0;               // when it last had something
    int64_t resume_ns = Poller::kNever;  // when to look again
  };
  void Pump(size_t stream);
  void Take(size_t stream, int64_t (OutputStream::*how)());
  // Most streams are unused, and their end needs no work of the writer thread.
  bool EndIfUnused(size_t stream);
  struct Pumped {
    int64_t taken = 0;
    int refusal = 0;
    OutputGrown state;
  };
  void OnPumped(size_t stream, const Pumped& pumped);
  void TellShortage(int64_t now, EventBook* book);
  void Unwatch(size_t stream);

  Poller* poller_;
  WriterThread* writer_;
  // Shared with the work that the writer thread has for them.
  std::vector<std::shared_ptr<OutputStream>> streams_;
  std::vector<OutputGrown> states_;
  std::vector<Care> cares_;
  bool finishing_ = false;
  Shortage shortage_;  // the present one
  int32_t told_error_ = 0;
  int64_t next_shortage_ns_ = 0;
};

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_OUTPUT_RANK_OUTPUTS_H_
