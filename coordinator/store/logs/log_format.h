// The bytes of a run's log (docs/STORAGE.md, "Logs"). Pure.
//
// A record is a header of 40 bytes, little endian, and its data:
//
//   0  magic "HPCL"        12 kind (1 stdout, 2 stderr, 3 streams)   24 offset
//   4  CRC-32 of the rest  16 attempt                                32 time, microseconds
//   8  length of the data  20 rank                                   40 data
//
// Kinds 1 and 2 hold output; their offset counts bytes of that stream. Kind 3 says how long streams
// are. At the beginning of each segment but a run's first, it tells this of all streams, so that
// nothing older has to be read to go on. It also tells it of some streams whenever much of them has
// been cut. Its offset is the position where output ended before it. Each of its entries has 28
// bytes: attempt, rank, kind, length (cut bytes included), cut bytes.
#ifndef HPC_COORDINATOR_STORE_LOGS_LOG_FORMAT_H_
#define HPC_COORDINATOR_STORE_LOGS_LOG_FORMAT_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/store/logs/log_store.h"
#include "protocol/output.h"

namespace hpc::coordinator {

inline constexpr int64_t kRecordHeaderBytes = 40;
inline constexpr int64_t kMaxRecordData = 256 << 10;

enum class RecordKind : uint32_t { kStdout = 1, kStderr = 2, kStreams = 3 };

// How far a stream has come: bytes [0, length). The last `cut` of them are not stored.
struct StreamExtent {
  int64_t length = 0;
  int64_t cut = 0;

  bool operator==(const StreamExtent&) const = default;
};
using StreamExtents = std::map<protocol::StreamId, StreamExtent>;

// `data` is at most kMaxRecordData bytes of output.
void AppendOutput(const protocol::StreamId& stream, int64_t offset, absl::Time at,
                  absl::string_view data, std::string* log);
// Writes as many records as the extents need, and none if there are no extents.
void AppendExtents(const StreamExtents& extents, int64_t output_end, std::string* log);

struct ParsedRecord {
  RecordKind kind = RecordKind::kStdout;
  int32_t attempt = 0;
  int32_t rank = 0;
  int64_t offset = 0;
  absl::Time at;
  absl::string_view data;  // points into the bytes that were parsed

  int64_t bytes() const { return kRecordHeaderBytes + static_cast<int64_t>(data.size()); }
  protocol::StreamId Stream(RunId run) const {
    return {{run, attempt}, rank, kind == RecordKind::kStderr};
  }
};

// Reads the record at the beginning of `bytes`. Returns false if there is no complete, undamaged
// record. A record that says what AppendOutput and AppendExtents never write counts as damaged,
// even if its checksum is right.
bool ParseRecord(absl::string_view bytes, ParsedRecord* record);

// What was learned by reading a segment from its beginning.
struct SegmentScan {
  int64_t valid_bytes = 0;  // up to the end of the last complete record
  int64_t output_end = 0;   // position behind the last output up to there
};

// Reads the records of a segment that begins at `first_position`, up to the first torn one, and
// updates `extents` with them.
SegmentScan ScanSegment(RunId run, int64_t first_position, absl::string_view bytes,
                        StreamExtents* extents);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_LOGS_LOG_FORMAT_H_
