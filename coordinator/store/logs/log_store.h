// The output of ranks, on disk. Each run has one log: a sequence of records in the order in which
// they arrived. Following a run is therefore reading forward from a position, whatever the number
// of ranks. A position is a byte offset in that uncompressed sequence; it never changes its
// meaning.
//
//   logs/<run>/<first position, 20 digits>.log    the newest segment, being appended to
//   logs/<run>/<first position, 20 digits>.zst    sealed: compressed, never written again
//
// Records carry a checksum. A torn tail is cut off when the segment is opened again, and the
// workers send that part once more, since it was never acknowledged. docs/STORAGE.md has the
// format, and says what is lost when.
#ifndef HPC_COORDINATOR_STORE_LOGS_LOG_STORE_H_
#define HPC_COORDINATOR_STORE_LOGS_LOG_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/store/logs/log_files.h"
#include "coordinator/store/store.h"
#include "protocol/output.h"

namespace hpc::coordinator {

// The greatest position of a log, and length of a stream. No output ever gets that far, and sums of
// such numbers do not overflow.
inline constexpr int64_t kMaxLogPosition = int64_t{1} << 60;

// A piece of one stream as it is read back.
struct LogRecord {
  int64_t position = 0;       // of this record in the run's log
  int64_t next_position = 0;  // resume here
  protocol::StreamId stream;
  int64_t offset = 0;
  absl::Time at;  // when the coordinator received it
  std::string data;
  // If not empty, output is missing here and this says why. Then only the positions of the record
  // are set.
  std::string missing;
};

struct LogStoreOptions {
  int64_t segment_bytes = 4 << 20;
  int64_t run_limit_bytes = int64_t{1} << 30;  // stored bytes per run; the rest is counted and cut
};

// FailedPrecondition: `dir` holds logs of runs above `last_run`, which is the newest run that the
// database beside it knows. Then the logs were written with another database. The numbers of these
// runs would be given to new runs, which would show the old output and drop their own as stored
// already.
absl::Status CheckLogsAreOf(const std::string& dir, RunId last_run,
                            LogFiles* files = PosixLogFiles());

class LogStore {
 public:
  // `dir` is made if missing.
  static absl::StatusOr<std::unique_ptr<LogStore>> Open(const std::string& dir,
                                                        const LogStoreOptions& options,
                                                        LogFiles* files = PosixLogFiles());
  virtual ~LogStore() = default;

  // Appends the part of [offset, offset + data.size()) that is new, and returns the stream's length
  // after it. The data is not durable yet, and nothing is written before Flush. A gap (an offset
  // beyond what is stored) is OutOfRange and changes nothing. A run at its limit stores nothing
  // more and only counts, so there its streams grow by any offset. InvalidArgument: no stream can
  // have such a piece.
  virtual absl::StatusOr<int64_t> Append(const protocol::StreamId& stream, int64_t offset,
                                         absl::string_view data, absl::Time now) = 0;

  // Nothing more comes from this stream; the worker dropped `cut_bytes`. InvalidArgument: it cannot
  // have dropped so many.
  virtual absl::Status EndStream(const protocol::StreamId& stream, int64_t cut_bytes) = 0;

  // Makes everything appended so far durable, and adds to `batch` what the store must record with
  // it. ResourceExhausted: the disk is full; what could not be written is kept, and the next Flush
  // tries again. Internal: a file may have lost data that was written to it; every later call about
  // that run says so.
  virtual absl::Status Flush(WriteBatch* batch) = 0;
  virtual bool dirty() const = 0;

  // The durable length of each stream of the attempt, for a worker that resumes.
  virtual absl::StatusOr<std::vector<std::pair<protocol::StreamId, int64_t>>> Lengths(
      AttemptRef ref) = 0;

  // Flushes a run that is over and seals its segments. A segment that cannot be compressed for want
  // of space stays as it is, which is no error. Other errors are those of Flush.
  virtual absl::Status Seal(RunId run, WriteBatch* batch) = 0;

  // Returns records from `position` on (0: the beginning), at most about `max_bytes` of data, and
  // only what is flushed. Empty at the end of what there is. A run without output is empty, never
  // NotFound. Where a file is damaged, a record says so in place of what is lost, and reading goes
  // on behind it. DataLoss: no record begins at `position`.
  virtual absl::StatusOr<std::vector<LogRecord>> Read(RunId run, int64_t position,
                                                      int64_t max_bytes) = 0;

  // The end of what Read can return now.
  virtual int64_t EndPosition(RunId run) = 0;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_LOGS_LOG_STORE_H_
