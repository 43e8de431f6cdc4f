#include "coordinator/store/run_log.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

// How much may be cut of a stream before the log tells of it once more. It grows with the cut, so
// that a rank which never stops writing does not fill the log with the news of it; a crash makes
// the stated cut short by no more than this.
int64_t CutStep(int64_t recorded) { return std::max(int64_t{1} << 20, recorded / 16); }

// One answer of Read, whatever was asked for.
constexpr int64_t kMaxRead = 16 << 20;

absl::Status Gap(const LogStreamId& stream, int64_t stored, int64_t offset) {
  return absl::OutOfRangeError(absl::StrCat(stream.is_stderr ? "stderr" : "stdout", " of rank ",
                                            stream.rank, " of attempt ", stream.ref.ToString(),
                                            " is stored up to byte ", stored, ", and byte ", offset,
                                            " cannot follow: send from ", stored));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const std::string>> SealedCache::Get(const std::string& dir,
                                                                    const Segment& segment) {
  const std::string path = SegmentPath(dir, segment);
  auto it = std::find_if(entries_.begin(), entries_.end(),
                         [&](const Entry& entry) { return entry.path == path; });
  if (it == entries_.end()) {
    HPC_ASSIGN_OR_RETURN(std::string bytes, ReadSegment(dir, segment, 0, segment.bytes));
    if (entries_.size() == kEntries) entries_.pop_back();
    entries_.push_back({path, std::make_shared<const std::string>(std::move(bytes))});
    it = entries_.end() - 1;
  }
  std::rotate(entries_.begin(), it, it + 1);
  return entries_.front().bytes;
}

absl::StatusOr<std::unique_ptr<RunLog>> RunLog::Open(const std::string& dir, RunId run,
                                                     const LogStoreOptions& options) {
  std::unique_ptr<RunLog> log(new RunLog(dir, run, options));
  HPC_RETURN_IF_ERROR(log->Recover());
  return log;
}

absl::Status RunLog::Recover() {
  HPC_ASSIGN_OR_RETURN(segments_, FindSegments(dir_));
  HPC_RETURN_IF_ERROR(RecoverNewest());
  // A crash may have come between these files and the records of them.
  if (HasLive()) {
    for (const Segment& segment : segments_) Remember(segment);
  }
  pending_output_end_ = output_end_;
  return absl::OkStatus();
}

absl::Status RunLog::RecoverNewest() {
  while (!segments_.empty()) {
    Segment& newest = segments_.back();
    HPC_ASSIGN_OR_RETURN(const std::string bytes, ReadSegment(dir_, newest, 0, newest.bytes));
    StreamExtents extents;
    const SegmentScan scan = ScanSegment(run_, newest.first_position, bytes, &extents);
    if (scan.valid_bytes < newest.bytes) {
      if (newest.sealed) {
        return absl::DataLossError(
            absl::StrCat(SegmentPath(dir_, newest), ": damaged at byte ", scan.valid_bytes,
                         ": move the file away to read the rest of the run's log"));
      }
      LogWarning("cut off the torn end of a log",
                 {{"file", SegmentPath(dir_, newest)}, {"bytes", newest.bytes - scan.valid_bytes}});
      newest.bytes = newest.stored_bytes = scan.valid_bytes;
      HPC_RETURN_IF_ERROR(scan.valid_bytes > 0 ? TruncateSegment(dir_, newest)
                                               : RemoveSegment(dir_, newest));
    }
    if (newest.bytes == 0) {
      segments_.pop_back();
      continue;
    }
    output_end_ = scan.output_end;
    for (const auto& [stream, extent] : extents) {
      streams_[stream] = {
          .extent = extent, .durable_length = extent.length, .recorded_cut = extent.cut};
    }
    break;
  }
  return absl::OkStatus();
}

int64_t RunLog::End() const {
  const int64_t durable = segments_.empty() ? 0 : segments_.back().end();
  return durable + static_cast<int64_t>(pending_.size());
}

void RunLog::Remember(const Segment& segment) {
  segment_records_[segment.first_position] = {.run = run_,
                                              .first_position = segment.first_position,
                                              .bytes = segment.bytes,
                                              .stored_bytes = segment.stored_bytes,
                                              .sealed = segment.sealed};
}

// Makes sure that the last segment can take another record.
absl::Status RunLog::MakeLive() {
  if (HasLive()) {
    const int64_t bytes = segments_.back().bytes + static_cast<int64_t>(pending_.size());
    if (bytes < options_.segment_bytes) return absl::OkStatus();
    HPC_RETURN_IF_ERROR(WritePending());
    HPC_RETURN_IF_ERROR(SealLive());
  }
  segments_.push_back({.first_position = End()});
  StreamExtents extents;
  for (auto& [id, stream] : streams_) {
    if (stream.extent.length == 0) continue;
    extents[id] = stream.extent;
    stream.recorded_cut = stream.extent.cut;
  }
  AppendExtents(extents, pending_output_end_, &pending_);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> RunLog::Append(const LogStreamId& id, int64_t offset,
                                       absl::string_view data, absl::Time now) {
  HPC_RETURN_IF_ERROR(broken_);
  const auto known = streams_.find(id);
  const int64_t length = known == streams_.end() ? 0 : known->second.extent.length;
  // A run at its limit only counts, so that a gap in what is not stored anyway is no harm.
  if (offset > length && Room() > 0) return Gap(id, length, offset);
  if (offset + static_cast<int64_t>(data.size()) <= length) return length;
  if (offset < length) data.remove_prefix(static_cast<size_t>(length - offset));

  dirty_ = true;
  Stream& stream = streams_[id];
  StreamExtent& extent = stream.extent;
  extent.cut += std::max(int64_t{0}, offset - length);
  extent.length = std::max(offset, length);
  while (!data.empty()) {
    if (Room() > 0) HPC_RETURN_IF_ERROR(MakeLive());
    if (Room() <= 0) {
      extent.cut += static_cast<int64_t>(data.size());
      extent.length += static_cast<int64_t>(data.size());
      break;
    }
    const auto limit = static_cast<size_t>(std::min(kMaxRecordData, Room()));
    const absl::string_view piece = data.substr(0, limit);
    AppendOutput(id, extent.length, now, piece, &pending_);
    pending_output_end_ = End();
    extent.length += static_cast<int64_t>(piece.size());
    data.remove_prefix(piece.size());
  }
  return extent.length;
}

void RunLog::EndStream(const LogStreamId& id, int64_t cut_bytes) {
  Stream& stream = streams_[id];
  stream.ended = true;
  dirty_ = true;
  stream_records_.push_back({.ref = id.ref,
                             .rank = id.rank,
                             .is_stderr = id.is_stderr,
                             .bytes = stream.extent.length - stream.extent.cut,
                             .cut_bytes = stream.extent.cut + cut_bytes});
}

// Adds to the log how much of its streams was cut, where that is due.
void RunLog::RecordCuts() {
  StreamExtents due;
  for (auto& [id, stream] : streams_) {
    const int64_t news = stream.extent.cut - stream.recorded_cut;
    if (news > 0 &&
        (stream.ended || stream.recorded_cut == 0 || news >= CutStep(stream.recorded_cut))) {
      due[id] = stream.extent;
      stream.recorded_cut = stream.extent.cut;
    }
  }
  AppendExtents(due, pending_output_end_, &pending_);
}

absl::Status RunLog::WritePending() {
  if (pending_.empty()) return absl::OkStatus();
  const absl::Status written = AppendToSegment(dir_, pending_, &segments_.back());
  if (absl::IsInternal(written)) broken_ = written;
  HPC_RETURN_IF_ERROR(written);
  pending_.clear();
  output_end_ = pending_output_end_;
  Remember(segments_.back());
  return absl::OkStatus();
}

absl::Status RunLog::SealLive() {
  HPC_RETURN_IF_ERROR(SealSegment(dir_, &segments_.back()));
  Remember(segments_.back());
  return absl::OkStatus();
}

absl::Status RunLog::Flush(WriteBatch* batch) {
  HPC_RETURN_IF_ERROR(broken_);
  if (HasLive()) RecordCuts();
  HPC_RETURN_IF_ERROR(WritePending());
  for (auto& [id, stream] : streams_) stream.durable_length = stream.extent.length;
  for (const auto& [position, record] : segment_records_) batch->log_segments.push_back(record);
  batch->log_streams.insert(batch->log_streams.end(), stream_records_.begin(),
                            stream_records_.end());
  segment_records_.clear();
  stream_records_.clear();
  dirty_ = false;
  return absl::OkStatus();
}

absl::Status RunLog::Seal(WriteBatch* batch) {
  HPC_RETURN_IF_ERROR(broken_);
  if (HasLive()) {
    RecordCuts();
    HPC_RETURN_IF_ERROR(WritePending());
    HPC_RETURN_IF_ERROR(SealLive());
  }
  for (const Segment& segment : segments_) Remember(segment);
  return Flush(batch);
}

std::vector<std::pair<LogStreamId, int64_t>> RunLog::Lengths(AttemptRef ref) const {
  std::vector<std::pair<LogStreamId, int64_t>> lengths;
  for (const auto& [id, stream] : streams_) {
    if (id.ref == ref) lengths.emplace_back(id, stream.durable_length);
  }
  return lengths;
}

absl::StatusOr<std::vector<LogRecord>> RunLog::Read(int64_t position, int64_t max_bytes,
                                                    SealedCache* cache) const {
  std::vector<LogRecord> records;
  if (position < 0) {
    return absl::InvalidArgumentError(absl::StrCat("a log has no position ", position));
  }
  max_bytes = std::min(max_bytes, kMaxRead);
  while (position < output_end_ && max_bytes > 0) {
    // The segment behind the last one that begins at or before the position.
    const auto next = std::upper_bound(
        segments_.begin(), segments_.end(), position,
        [](int64_t p, const Segment& candidate) { return p < candidate.first_position; });
    if (next == segments_.begin() || position >= std::prev(next)->end()) {
      // A file is missing here: the rest of the log is worth reading still.
      position = next->first_position;
      continue;
    }
    HPC_ASSIGN_OR_RETURN(position,
                         ReadFrom(*std::prev(next), position, &max_bytes, cache, &records));
  }
  return records;
}

// Reads records of one segment until it ends or `budget` bytes of data have been read; the position
// behind them.
absl::StatusOr<int64_t> RunLog::ReadFrom(const Segment& segment, int64_t position, int64_t* budget,
                                         SealedCache* cache, std::vector<LogRecord>* out) const {
  const int64_t start = position;
  const int64_t from = position - segment.first_position;
  std::shared_ptr<const std::string> sealed;
  std::string live;
  absl::string_view bytes;
  if (segment.sealed) {
    HPC_ASSIGN_OR_RETURN(sealed, cache->Get(dir_, segment));
    bytes = absl::string_view(*sealed).substr(static_cast<size_t>(from));
  } else {
    // Enough for one record at least.
    const int64_t length = *budget + kRecordHeaderBytes + kMaxRecordData;
    HPC_ASSIGN_OR_RETURN(live, ReadSegment(dir_, segment, from, length));
    bytes = live;
  }
  ParsedRecord record;
  for (; *budget > 0 && !bytes.empty(); bytes.remove_prefix(record.bytes())) {
    if (!ParseRecord(bytes, &record)) {
      const bool more_to_read = position + static_cast<int64_t>(bytes.size()) < segment.end();
      if (more_to_read && position > start) break;
      return absl::DataLossError(
          absl::StrCat(SegmentPath(dir_, segment), ": no record begins at position ", position,
                       ": it is not one that was handed out, or the file is damaged"));
    }
    const int64_t end = position + record.bytes();
    if (record.kind != RecordKind::kStreams) {
      out->push_back({.position = position,
                      .next_position = end,
                      .stream = record.Stream(run_),
                      .offset = record.offset,
                      .at = record.at,
                      .data = std::string(record.data)});
      *budget -= static_cast<int64_t>(record.data.size());
    }
    position = end;
  }
  return position;
}

}  // namespace hpc::coordinator
