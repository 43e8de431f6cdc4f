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
  // has left: its temporary file, and one form of a segment that has both. `bytes` of an unsealed
  // segment is only the size of its file; ScanSegment tells how much of it is valid. If the file of
  // a sealed segment is too damaged to say how long it is, the segment reaches up to the next one;
  // the last segment of a log gets `unknown_bytes`.
  absl::StatusOr<std::vector<Segment>> Find(int64_t unknown_bytes) const;

  // Writes `data` at the end of an unsealed segment. On success it is durable, as are the names of
  // the file and the folder, and `segment` has grown. If the data could not be written, the segment
  // is as before and it can be tried again. Internal: the data was written but may not be durable;
  // nothing further may be promised about this file.
  absl::Status Append(absl::string_view data, Segment* segment) const;

  // Cuts an unsealed segment's file off at segment.bytes; removes it if that is 0.
  absl::Status Cut(const Segment& segment) const;

  // Compresses an unsealed segment. The compressed file is complete and durable before the other
  // one is removed. On failure the segment stays as it is and loses nothing.
  absl::Status Seal(Segment* segment) const;

  // Uncompressed bytes [from, from + length) of a segment, or fewer at its end. If a sealed segment
  // is damaged, only the bytes before the damage are returned.
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
