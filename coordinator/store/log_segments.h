// The files of one run's log: naming, finding, appending, sealing, reading. Each function says what
// is durable when it returns; errors name the file.
#ifndef HPC_COORDINATOR_STORE_LOG_SEGMENTS_H_
#define HPC_COORDINATOR_STORE_LOG_SEGMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc::coordinator {

struct Segment {
  int64_t first_position = 0;
  int64_t bytes = 0;         // uncompressed
  int64_t stored_bytes = 0;  // on disk
  bool sealed = false;

  int64_t end() const { return first_position + bytes; }
};

// "<dir>/<first position, 20 digits>.log", or ".zst" when sealed.
std::string SegmentPath(const std::string& dir, const Segment& segment);

// The segments in `dir` by position; none if there is no such folder. Removes what an interrupted
// sealing has left: its temporary file, and the uncompressed form of a segment that is sealed.
// `bytes` of the last one is only what its file says; ScanSegment tells how much of it is valid.
absl::StatusOr<std::vector<Segment>> FindSegments(const std::string& dir);

// Writes `data` at the end of an unsealed segment. On success it is durable, the file's and the
// folder's names included, and `segment` has grown. Where the data could not be written the segment
// is as before, and it can be tried again. Internal: it was written but may not be durable; nothing
// further may be promised about this file.
absl::Status AppendToSegment(const std::string& dir, absl::string_view data, Segment* segment);

// Cuts an unsealed segment's file off at segment->bytes.
absl::Status TruncateSegment(const std::string& dir, const Segment& segment);
// Removes an unsealed segment's file.
absl::Status RemoveSegment(const std::string& dir, const Segment& segment);

// Compresses an unsealed segment. The compressed file is complete and durable before the other one
// goes; on failure the segment stays as it is.
absl::Status SealSegment(const std::string& dir, Segment* segment);

// Uncompressed bytes [from, from + length) of a segment, fewer at its end. DataLoss: damaged.
absl::StatusOr<std::string> ReadSegment(const std::string& dir, const Segment& segment,
                                        int64_t from, int64_t length);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_LOG_SEGMENTS_H_
