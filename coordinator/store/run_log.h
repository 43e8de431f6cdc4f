// The log of one run: what is appended, kept until it is flushed, and read back.
#ifndef HPC_COORDINATOR_STORE_RUN_LOG_H_
#define HPC_COORDINATOR_STORE_RUN_LOG_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/store/log_format.h"
#include "coordinator/store/log_segments.h"
#include "coordinator/store/log_store.h"

namespace hpc::coordinator {

// Sealed segments as they were last decompressed, of all runs. Following a log reads a segment many
// times.
class SealedCache {
 public:
  absl::StatusOr<std::shared_ptr<const std::string>> Get(const std::string& dir,
                                                         const Segment& segment);

 private:
  static constexpr size_t kEntries = 2;
  struct Entry {
    std::string path;
    std::shared_ptr<const std::string> bytes;
  };
  std::vector<Entry> entries_;  // newest first
};

// Methods as in LogStore.
class RunLog {
 public:
  // `dir` is the run's own folder; it is made when there is something to write. A torn tail of the
  // newest segment is cut off.
  static absl::StatusOr<std::unique_ptr<RunLog>> Open(const std::string& dir, RunId run,
                                                      const LogStoreOptions& options);

  absl::StatusOr<int64_t> Append(const LogStreamId& stream, int64_t offset, absl::string_view data,
                                 absl::Time now);
  void EndStream(const LogStreamId& stream, int64_t cut_bytes);
  absl::Status Flush(WriteBatch* batch);
  absl::Status Seal(WriteBatch* batch);
  bool dirty() const { return dirty_; }

  std::vector<std::pair<LogStreamId, int64_t>> Lengths(AttemptRef ref) const;
  absl::StatusOr<std::vector<LogRecord>> Read(int64_t position, int64_t max_bytes,
                                              SealedCache* cache) const;
  int64_t EndPosition() const { return output_end_; }

 private:
  struct Stream {
    StreamExtent extent;
    int64_t durable_length = 0;
    int64_t recorded_cut = 0;  // the part of extent.cut that the log itself tells of
    bool ended = false;
  };

  RunLog(std::string dir, RunId run, const LogStoreOptions& options)
      : dir_(std::move(dir)), run_(run), options_(options) {}

  absl::Status Recover();
  absl::Status RecoverNewest();
  bool HasLive() const { return !segments_.empty() && !segments_.back().sealed; }
  int64_t End() const;  // position behind everything appended
  int64_t Room() const { return options_.run_limit_bytes - End() - kRecordHeaderBytes; }
  absl::Status MakeLive();
  absl::Status WritePending();
  absl::Status SealLive();
  void RecordCuts();
  void Remember(const Segment& segment);
  absl::StatusOr<int64_t> ReadFrom(const Segment& segment, int64_t position, int64_t* budget,
                                   SealedCache* cache, std::vector<LogRecord>* out) const;

  const std::string dir_;
  const RunId run_;
  const LogStoreOptions options_;

  std::vector<Segment> segments_;  // the last one may be live: not sealed
  std::map<LogStreamId, Stream> streams_;
  int64_t output_end_ = 0;  // position behind the last durable output

  std::string pending_;             // records behind the live segment's durable bytes
  int64_t pending_output_end_ = 0;  // what output_end_ will be when they are durable
  bool dirty_ = false;
  absl::Status broken_;  // why nothing further can be promised

  // For the next batch.
  std::map<int64_t, LogSegmentRecord> segment_records_;
  std::vector<LogStreamRecord> stream_records_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_RUN_LOG_H_
