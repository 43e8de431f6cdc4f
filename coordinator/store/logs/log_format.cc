#include "coordinator/store/logs/log_format.h"

#include <zlib.h>

#include <algorithm>

namespace hpc::coordinator {
namespace {

constexpr uint32_t kMagic = 0x4c435048;  // "HPCL"
constexpr size_t kCrcStart = 8;          // the checksum covers all bytes from here on
constexpr size_t kExtentBytes = 28;

void Put32(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

void Put64(int64_t value, std::string* out) {
  Put32(static_cast<uint32_t>(value), out);
  Put32(static_cast<uint32_t>(static_cast<uint64_t>(value) >> 32), out);
}

uint32_t Get32(absl::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

int64_t Get64(absl::string_view bytes, size_t at) {
  return static_cast<int64_t>(Get32(bytes, at) | uint64_t{Get32(bytes, at + 4)} << 32);
}

uint32_t Checksum(absl::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

void AppendRecord(const ParsedRecord& record, std::string* log) {
  const size_t start = log->size();
  Put32(kMagic, log);
  Put32(0, log);
  Put32(static_cast<uint32_t>(record.data.size()), log);
  Put32(static_cast<uint32_t>(record.kind), log);
  Put32(static_cast<uint32_t>(record.attempt), log);
  Put32(static_cast<uint32_t>(record.rank), log);
  Put64(record.offset, log);
  Put64(absl::ToUnixMicros(record.at), log);
  log->append(record.data.data(), record.data.size());
  std::string crc;
  Put32(Checksum(absl::string_view(*log).substr(start + kCrcStart)), &crc);
  log->replace(start + 4, 4, crc);
}

RecordKind KindOf(const protocol::StreamId& stream) {
  return stream.is_stderr ? RecordKind::kStderr : RecordKind::kStdout;
}

bool IsPosition(int64_t number) { return number >= 0 && number <= kMaxLogPosition; }

bool IsOutput(uint32_t kind) {
  return kind == static_cast<uint32_t>(RecordKind::kStdout) ||
         kind == static_cast<uint32_t>(RecordKind::kStderr);
}

bool IsExtent(absl::string_view entry) {
  const int64_t length = Get64(entry, 12);
  const int64_t cut = Get64(entry, 20);
  return IsOutput(Get32(entry, 8)) && IsPosition(length) && cut >= 0 && cut <= length;
}

void ReadExtents(RunId run, absl::string_view data, StreamExtents* extents) {
  for (; !data.empty(); data.remove_prefix(kExtentBytes)) {
    protocol::StreamId stream;
    stream.ref = {run, static_cast<int32_t>(Get32(data, 0))};
    stream.rank = static_cast<int32_t>(Get32(data, 4));
    stream.is_stderr = Get32(data, 8) == static_cast<uint32_t>(RecordKind::kStderr);
    (*extents)[stream] = {Get64(data, 12), Get64(data, 20)};
  }
}

bool AreExtents(absl::string_view data) {
  if (data.size() % kExtentBytes != 0) return false;
  for (; !data.empty(); data.remove_prefix(kExtentBytes)) {
    if (!IsExtent(data)) return false;
  }
  return true;
}

}  // namespace

void AppendOutput(const protocol::StreamId& stream, int64_t offset, absl::Time at,
                  absl::string_view data, std::string* log) {
  AppendRecord({.kind = KindOf(stream),
                .attempt = stream.ref.number,
                .rank = stream.rank,
                .offset = offset,
                .at = at,
                .data = data},
               log);
}

void AppendExtents(const StreamExtents& extents, int64_t output_end, std::string* log) {
  std::string data;
  const auto finish_record = [&] {
    if (!data.empty()) {
      AppendRecord({.kind = RecordKind::kStreams, .offset = output_end, .data = data}, log);
    }
    data.clear();
  };
  for (const auto& [stream, extent] : extents) {
    Put32(static_cast<uint32_t>(stream.ref.number), &data);
    Put32(static_cast<uint32_t>(stream.rank), &data);
    Put32(static_cast<uint32_t>(KindOf(stream)), &data);
    Put64(extent.length, &data);
    Put64(extent.cut, &data);
    if (data.size() + kExtentBytes > static_cast<size_t>(kMaxRecordData)) finish_record();
  }
  finish_record();
}

bool ParseRecord(absl::string_view bytes, ParsedRecord* record) {
  if (bytes.size() < static_cast<size_t>(kRecordHeaderBytes) || Get32(bytes, 0) != kMagic) {
    return false;
  }
  const size_t length = Get32(bytes, 8);
  if (length > static_cast<size_t>(kMaxRecordData)) return false;
  const size_t total = static_cast<size_t>(kRecordHeaderBytes) + length;
  if (bytes.size() < total) return false;
  if (Get32(bytes, 4) != Checksum(bytes.substr(kCrcStart, total - kCrcStart))) return false;
  const uint32_t kind = Get32(bytes, 12);
  const absl::string_view data = bytes.substr(static_cast<size_t>(kRecordHeaderBytes), length);
  if (data.empty() || !IsPosition(Get64(bytes, 24))) return false;
  const bool is_streams = kind == static_cast<uint32_t>(RecordKind::kStreams);
  if (!IsOutput(kind) && !(is_streams && AreExtents(data))) return false;
  record->kind = static_cast<RecordKind>(kind);
  record->attempt = static_cast<int32_t>(Get32(bytes, 16));
  record->rank = static_cast<int32_t>(Get32(bytes, 20));
  record->offset = Get64(bytes, 24);
  record->at = absl::FromUnixMicros(Get64(bytes, 32));
  record->data = data;
  return true;
}

SegmentScan ScanSegment(RunId run, int64_t first_position, absl::string_view bytes,
                        StreamExtents* extents) {
  SegmentScan scan;
  ParsedRecord record;
  while (ParseRecord(bytes, &record)) {
    if (record.kind == RecordKind::kStreams && record.offset > first_position + scan.valid_bytes) {
      break;  // it says that output before it ended behind it
    }
    scan.valid_bytes += record.bytes();
    if (record.kind == RecordKind::kStreams) {
      ReadExtents(run, record.data, extents);
      scan.output_end = std::max(scan.output_end, record.offset);
    } else {
      (*extents)[record.Stream(run)].length =
          record.offset + static_cast<int64_t>(record.data.size());
      scan.output_end = first_position + scan.valid_bytes;
    }
    bytes.remove_prefix(static_cast<size_t>(record.bytes()));
  }
  return scan;
}

}  // namespace hpc::coordinator
