#include "coordinator/store/logs/run_log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

// How many bytes of a stream may be cut before the log tells of it once more. The step grows with
// the cut, so that a rank which never stops writing does not fill the log with news of it. After a
// crash the cut that the log states is too small by at most this much.
int64_t CutStep(int64_t recorded) { return std::max(int64_t{1} << 20, recorded / 16); }

// The limit of one answer of Read, whatever was asked for.
constexpr int64_t kMaxRead = 16 << 20;

absl::Status Gap(const protocol::StreamId& stream, int64_t stored, int64_t offset) {
  return absl::OutOfRangeError(absl::StrCat(stream.is_stderr ? "stderr" : "stdout", " of rank ",
                                            stream.rank, " of attempt ", stream.ref.ToString(),
                                            " is stored up to byte ", stored, ", and byte ", offset,
                                            " cannot follow: send from ", stored));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const std::string>> SealedCache::Get(const SegmentFolder& folder,
                                                                    const Segment& segment) {
  const std::string path = folder.Path(segment);
  auto it = std::find_if(entries_.begin(), entries_.end(),
                         [&](const Entry& entry) { return entry.path == path; });
  if (it == entries_.end()) {
    HPC_ASSIGN_OR_RETURN(std::string bytes, folder.Read(segment, 0, segment.bytes));
    if (entries_.size() == kEntries) entries_.pop_back();
    entries_.push_back({path, std::make_shared<const std::string>(std::move(bytes))});
    it = entries_.end() - 1;
  }
  std::rotate(entries_.begin(), it, it + 1);
  return entries_.front().bytes;
}

absl::StatusOr<std::unique_ptr<RunLog>> RunLog::Open(const std::string& dir, RunId run,
                                                     const LogStoreOptions& options,
                                                     LogFiles* files) {
  std::unique_ptr<RunLog> log(new RunLog(dir, run, options, files));
  HPC_RETURN_IF_ERROR(log->Recover());
  return log;
}

absl::Status RunLog::Recover() {
  HPC_ASSIGN_OR_RETURN(segments_, folder_.Find(UnknownBytes()));
  // Goes backwards to the first segment that tells how far the streams had come.
  for (size_t i = segments_.size(); i-- > 0;) {
    HPC_ASSIGN_OR_RETURN(const bool found, RecoverFrom(&segments_[i]));
    if (found) break;
  }
  segments_.erase(std::remove_if(segments_.begin(), segments_.end(),
                                 [](const Segment& segment) { return segment.bytes == 0; }),
                  segments_.end());
  if (!segments_.empty()) durable_end_ = segments_.back().end();
  pending_output_end_ = output_end_;
  // A crash may have come after these files were written and before the store recorded them.
  if (HasLive()) {
    for (const Segment& segment : segments_) Remember(segment);
  }
  return absl::OkStatus();
}

// Takes over how far the streams had come at the end of this segment; false if it does not tell.
absl::StatusOr<bool> RunLog::RecoverFrom(Segment* newest) {
  HPC_ASSIGN_OR_RETURN(const std::string bytes, folder_.Read(*newest, 0, newest->bytes));
  StreamExtents extents;
  const SegmentScan scan = ScanSegment(run_, newest->first_position, bytes, &extents);
  output_end_ = std::max(output_end_, scan.output_end);
  if (newest->sealed && scan.valid_bytes < newest->bytes) {
    LogWarning(
        "a log is damaged; what follows in this file is lost, unless its worker still has it",
        {{"file", folder_.Path(*newest)}, {"from_byte", scan.valid_bytes}});
    if (newest == &segments_.back()) newest->bytes = std::max(newest->bytes, UnknownBytes());
    output_end_ = std::max(output_end_, newest->end());  // so that readers are told
  } else if (!newest->sealed && (scan.valid_bytes < newest->bytes || scan.valid_bytes == 0)) {
    if (newest->bytes > 0) {
      LogWarning("cut off the torn end of a log",
                 {{"file", folder_.Path(*newest)}, {"bytes", newest->bytes - scan.valid_bytes}});
    }
    newest->bytes = newest->stored_bytes = scan.valid_bytes;
    HPC_RETURN_IF_ERROR(folder_.Cut(*newest));
  }
  for (const auto& [stream, extent] : extents) {
    streams_[stream] = {
        .extent = extent, .durable_length = extent.length, .recorded_cut = extent.cut};
  }
  return scan.valid_bytes > 0;
}

void RunLog::Remember(const Segment& segment) {
  segment_records_[segment.first_position] = {.run = run_,
                                              .first_position = segment.first_position,
                                              .bytes = segment.bytes,
                                              .stored_bytes = segment.stored_bytes,
                                              .sealed = segment.sealed};
}

// Makes sure that the last segment can take another record.
void RunLog::MakeLive() {
  if (HasLive() && End() - segments_.back().first_position < options_.segment_bytes) return;
  segments_.push_back({.first_position = End()});
  StreamExtents extents;
  for (auto& [id, stream] : streams_) {
    if (stream.extent.length == 0) continue;
    extents[id] = stream.extent;
    stream.recorded_cut = stream.extent.cut;
  }
  AppendExtents(extents, pending_output_end_, &pending_);
}

// Marks a stream as one that the next flush has to look at. A run may have very many streams, of
// which few change at once.
RunLog::Stream& RunLog::Change(const protocol::StreamId& id) {
  auto& entry = *streams_.try_emplace(id).first;
  if (!std::exchange(entry.second.changed, true)) changed_.push_back(&entry);
  return entry.second;
}

absl::StatusOr<int64_t> RunLog::Append(const protocol::StreamId& id, int64_t offset,
                                       absl::string_view data, absl::Time now) {
  HPC_RETURN_IF_ERROR(broken_);
  const auto known = streams_.find(id);
  const int64_t length = known == streams_.end() ? 0 : known->second.extent.length;
  // A run at its limit only counts output, so a gap in what is not stored anyway does no harm.
  if (offset > length && Room() > 0) return Gap(id, length, offset);
  if (offset + static_cast<int64_t>(data.size()) <= length) return length;
  if (offset < length) data.remove_prefix(static_cast<size_t>(length - offset));

  Stream& stream = Change(id);
  StreamExtent& extent = stream.extent;
  extent.cut += std::max(int64_t{0}, offset - length);
  extent.length = std::max(offset, length);
  while (!data.empty()) {
    if (Room() > 0) MakeLive();
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

void RunLog::EndStream(const protocol::StreamId& id, int64_t cut_bytes) {
  Stream& stream = Change(id);
  stream.ended = true;
  stream_records_.push_back({.ref = id.ref,
                             .rank = id.rank,
                             .is_stderr = id.is_stderr,
                             .bytes = stream.extent.length - stream.extent.cut,
                             .cut_bytes = stream.extent.cut + cut_bytes});
}

// Adds to the log how much of its streams was cut, where that is due.
void RunLog::RecordCuts() {
  StreamExtents due;
  for (auto* changed : changed_) {
    auto& [id, stream] = *changed;
    const int64_t news = stream.extent.cut - stream.recorded_cut;
    if (news > 0 &&
        (stream.ended || stream.recorded_cut == 0 || news >= CutStep(stream.recorded_cut))) {
      due[id] = stream.extent;
      stream.recorded_cut = stream.extent.cut;
    }
  }
  AppendExtents(due, pending_output_end_, &pending_);
}

std::vector<Segment>::const_iterator RunLog::SegmentBehind(int64_t position) const {
  return std::upper_bound(
      segments_.begin(), segments_.end(), position,
      [](int64_t p, const Segment& candidate) { return p < candidate.first_position; });
}

// Writes segment by segment. What could not be written stays pending.
absl::Status RunLog::WritePending() {
  while (!pending_.empty()) {
    const auto next = SegmentBehind(durable_end_);
    const int64_t end = next == segments_.end() ? End() : next->first_position;
    const auto size = static_cast<size_t>(end - durable_end_);
    Segment& segment = segments_[static_cast<size_t>(next - segments_.begin()) - 1];
    const absl::Status written =
        folder_.Append(absl::string_view(pending_).substr(0, size), &segment);
    if (absl::IsInternal(written)) broken_ = written;
    HPC_RETURN_IF_ERROR(written);
    pending_.erase(0, size);
    durable_end_ = end;
    Remember(segment);
  }
  output_end_ = pending_output_end_;
  return absl::OkStatus();
}

// Compressing only saves space. A segment that could not be sealed is read as it is.
void RunLog::TrySeal(Segment* segment) {
  if (segment->sealed) return;
  if (const absl::Status status = folder_.Seal(segment); !status.ok()) {
    LogWarning("a log stays uncompressed", {{"reason", status.message()}});
  }
  Remember(*segment);
}

void RunLog::SealFull() {
  for (; seal_next_ + 1 < segments_.size(); ++seal_next_) TrySeal(&segments_[seal_next_]);
}

absl::Status RunLog::Flush(WriteBatch* batch) {
  HPC_RETURN_IF_ERROR(broken_);
  if (HasLive()) RecordCuts();
  HPC_RETURN_IF_ERROR(WritePending());
  SealFull();
  for (auto* changed : changed_) {
    Stream& stream = changed->second;
    stream.durable_length = stream.extent.length;
    stream.changed = false;
  }
  changed_.clear();
  for (const auto& [position, record] : segment_records_) batch->log_segments.push_back(record);
  batch->log_streams.insert(batch->log_streams.end(), stream_records_.begin(),
                            stream_records_.end());
  segment_records_.clear();
  stream_records_.clear();
  return absl::OkStatus();
}

absl::Status RunLog::Seal(WriteBatch* batch) {
  HPC_RETURN_IF_ERROR(broken_);
  if (HasLive()) RecordCuts();
  HPC_RETURN_IF_ERROR(WritePending());
  for (Segment& segment : segments_) TrySeal(&segment);
  for (const Segment& segment : segments_) Remember(segment);
  return Flush(batch);
}

std::vector<std::pair<protocol::StreamId, int64_t>> RunLog::Lengths(AttemptRef ref) const {
  std::vector<std::pair<protocol::StreamId, int64_t>> lengths;
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
    const auto next = SegmentBehind(position);
    if (next == segments_.begin() || position >= std::prev(next)->end()) {
      records.push_back(
          Hole(position, next->first_position, "a file of the log is missing, or damaged"));
      position = next->first_position;
      continue;
    }
    HPC_ASSIGN_OR_RETURN(position,
                         ReadFrom(*std::prev(next), position, &max_bytes, cache, &records));
  }
  return records;
}

// Reads records of one segment until it ends or `budget` bytes of data have been read. Returns the
// position behind them.
absl::StatusOr<int64_t> RunLog::ReadFrom(const Segment& segment, int64_t position, int64_t* budget,
                                         SealedCache* cache, std::vector<LogRecord>* out) const {
  const int64_t start = position;
  const int64_t from = position - segment.first_position;
  std::shared_ptr<const std::string> sealed;
  std::string live;
  absl::string_view bytes;
  if (segment.sealed) {
    HPC_ASSIGN_OR_RETURN(sealed, cache->Get(folder_, segment));
    bytes = *sealed;
    bytes.remove_prefix(std::min(bytes.size(), static_cast<size_t>(from)));
  } else {
    // Enough for one record at least.
    const int64_t length = *budget + kRecordHeaderBytes + kMaxRecordData;
    HPC_ASSIGN_OR_RETURN(live, folder_.Read(segment, from, length));
    bytes = live;
  }
  ParsedRecord record;
  for (; *budget > 0 && position < segment.end(); bytes.remove_prefix(record.bytes())) {
    if (!ParseRecord(bytes, &record)) {
      // This may just be the end of the bytes that were read. Real damage is found when reading
      // begins at it.
      if (position > start) break;
      HPC_ASSIGN_OR_RETURN(LogRecord hole, Damage(segment, position));
      position = hole.next_position;
      out->push_back(std::move(hole));
      break;
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

// The record that a reader gets in place of the rest of a segment when no record begins at
// `position`.
absl::StatusOr<LogRecord> RunLog::Damage(const Segment& segment, int64_t position) const {
  HPC_ASSIGN_OR_RETURN(const std::string bytes, folder_.Read(segment, 0, segment.bytes));
  StreamExtents unused;
  const SegmentScan scan = ScanSegment(run_, segment.first_position, bytes, &unused);
  if (position - segment.first_position < scan.valid_bytes) {
    return absl::DataLossError(absl::StrCat("no record of the log of run ", run_,
                                            " begins at position ", position,
                                            ": it is not one that was handed out"));
  }
  return Hole(position, segment.end(), absl::StrCat(folder_.Path(segment), " is damaged"));
}

LogRecord RunLog::Hole(int64_t position, int64_t next_position, std::string why) const {
  LogRecord hole = {.position = position, .next_position = next_position};
  hole.stream.ref.run = run_;
  hole.missing = std::move(why);
  return hole;
}

}  // namespace hpc::coordinator
