// The log of one run: what is appended, kept until it is flushed, and read back.
#ifndef HPC_COORDINATOR_STORE_LOGS_RUN_LOG_H_
#define HPC_COORDINATOR_STORE_LOGS_RUN_LOG_H_

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
#include "coordinator/store/logs/log_format.h"
#include "coordinator/store/logs/log_segments.h"
#include "coordinator/store/logs/log_store.h"
#include "protocol/output.h"

namespace hpc::coordinator {

// The sealed segments of all runs that were decompressed last. Following a log reads the same
// segment many times.
class SealedCache {
 public:
  absl::StatusOr<std::shared_ptr<const std::string>> Get(const SegmentFolder& folder,
                                                         const Segment& segment);

 private:
  static constexpr size_t kEntries = 2;
  struct Entry {
    std::string path;
    std::shared_ptr<const std::string> bytes;
  };
  std::vector<Entry> entries_;  // newest first
};

// The methods are those of LogStore.
class RunLog {
 public:
  // `dir` is the run's own folder; it is made when there is something to write. A torn tail of the
  // newest segment is cut off. Damage in a sealed segment is no error: either the worker sends
  // again what is lost, or it stays a hole.
  static absl::StatusOr<std::unique_ptr<RunLog>> Open(const std::string& dir, RunId run,
                                                      const LogStoreOptions& options,
                                                      LogFiles* files);

  absl::StatusOr<int64_t> Append(const protocol::StreamId& stream, int64_t offset,
                                 absl::string_view data, absl::Time now);
  void EndStream(const protocol::StreamId& stream, int64_t cut_bytes);
  absl::Status Flush(WriteBatch* batch);
  absl::Status Seal(WriteBatch* batch);
  bool dirty() const { return !changed_.empty(); }

  std::vector<std::pair<protocol::StreamId, int64_t>> Lengths(AttemptRef ref) const;
  absl::StatusOr<std::vector<LogRecord>> Read(int64_t position, int64_t max_bytes,
                                              SealedCache* cache) const;
  int64_t EndPosition() const { return output_end_; }

 private:
  struct Stream {
    StreamExtent extent;
    int64_t durable_length = 0;
    int64_t recorded_cut = 0;  // the part of extent.cut that the log itself tells of
    bool ended = false;
    bool changed = false;  // the stream is in changed_
  };

  RunLog(const std::string& dir, RunId run, const LogStoreOptions& options, LogFiles* files)
      : folder_(dir, files), run_(run), options_(options) {}

  absl::Status Recover();
  absl::StatusOr<bool> RecoverFrom(Segment* newest);
  Stream& Change(const protocol::StreamId& id);
  bool HasLive() const { return !segments_.empty() && !segments_.back().sealed; }
  // Position behind everything appended.
  int64_t End() const { return durable_end_ + static_cast<int64_t>(pending_.size()); }
  int64_t Room() const { return options_.run_limit_bytes - End() - kRecordHeaderBytes; }
  void MakeLive();
  absl::Status WritePending();
  void SealFull();
  void TrySeal(Segment* segment);
  void RecordCuts();
  void Remember(const Segment& segment);
  std::vector<Segment>::const_iterator SegmentBehind(int64_t position) const;
  absl::StatusOr<int64_t> ReadFrom(const Segment& segment, int64_t position, int64_t* budget,
                                   SealedCache* cache, std::vector<LogRecord>* out) const;
  absl::StatusOr<LogRecord> Damage(const Segment& segment, int64_t position) const;
  LogRecord Hole(int64_t position, int64_t next_position, std::string why) const;
  // More than any segment has, so that no position is given out twice.
  int64_t UnknownBytes() const { return 2 * options_.segment_bytes + kMaxRecordData; }

  const SegmentFolder folder_;
  const RunId run_;
  const LogStoreOptions options_;

  // By position. The segments from durable_end_ on are in pending_ only.
  std::vector<Segment> segments_;
  size_t seal_next_ = 0;  // segments before this one are sealed, or could not be
  std::map<protocol::StreamId, Stream> streams_;
  std::vector<std::pair<const protocol::StreamId, Stream>*>
      changed_;             // in streams_, since the last flush
  int64_t output_end_ = 0;  // position behind the last durable output

  std::string pending_;             // what follows durable_end_
  int64_t durable_end_ = 0;         // position behind all that is durable
  int64_t pending_output_end_ = 0;  // what output_end_ will be when all of pending_ is durable
  absl::Status broken_;             // why nothing further can be promised

  // For the next batch.
  std::map<int64_t, LogSegmentRecord> segment_records_;
  std::vector<LogStreamRecord> stream_records_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_LOGS_RUN_LOG_H_
