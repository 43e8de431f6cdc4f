// The files of one run's log: naming, finding, appending, sealing, reading. Each function says what
// is durable when it returns; errors name the file.
#ifndef HPC_COORDINATOR_STORE_LOGS_LOG_SEGMENTS_H_
#define HPC_COORDINATOR_STORE_LOGS_LOG_SEGMENTS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "coordinator/store/logs/log_files.h"

namespace hpc::coordinator {

struct Segment {
  int64_t first_position = 0;
  int64_t bytes = 0;         // uncompressed
  int64_t stored_bytes = 0;  // on disk
  bool sealed = false;

  int64_t end() const { return first_position + bytes; }
};

class SegmentFolder {
 public:
  SegmentFolder(std::string dir, LogFiles* files) : dir_(std::move(dir)), files_(files) {}

  // "<dir>/<first position, 20 digits>.log", or ".zst" when sealed.
  std::string Path(const Segment& segment) const;

  // The segments by position; none if there is no such folder. Removes what an interrupted sealing
  // has left: its temporary file, and one form of a segment that is there in both. `bytes` of an
  // unsealed one is only what its file says; ScanSegment tells how much of it is valid. A sealed
  // one whose file does not even say how long it is gets the length up to the next segment; the
  // last one of a log gets `unknown_bytes`.
  absl::StatusOr<std::vector<Segment>> Find(int64_t unknown_bytes) const;

  // Writes `data` at the end of an unsealed segment. On success it is durable, the file's and the
  // folder's names included, and `segment` has grown. Where the data could not be written the
  // segment is as before, and it can be tried again. Internal: it was written but may not be
  // durable; nothing further may be promised about this file.
  absl::Status Append(absl::string_view data, Segment* segment) const;

  // Cuts an unsealed segment's file off at segment.bytes; removes it if that is 0.
  absl::Status Cut(const Segment& segment) const;

  // Compresses an unsealed segment. The compressed file is complete and durable before the other
  // one goes; on failure the segment stays as it is, and nothing of it is lost.
  absl::Status Seal(Segment* segment) const;

  // Uncompressed bytes [from, from + length) of a segment, fewer at its end. Of a sealed one that
  // is damaged only what is before the damage.
  absl::StatusOr<std::string> Read(const Segment& segment, int64_t from, int64_t length) const;

 private:
  absl::StatusOr<std::vector<Segment>> List() const;
  absl::Status Measure(Segment* segment) const;
  absl::Status WriteSealed(const std::string& path, absl::string_view compressed) const;

  const std::string dir_;
  LogFiles* const files_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_LOGS_LOG_SEGMENTS_H_
