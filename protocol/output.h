// What ranks write, on its way to the coordinator, and how much of it is durable there: LogData,
// MetricData and their answers in proto/hpc/v1/worker.proto, without protobuf.
#ifndef HPC_PROTOCOL_OUTPUT_H_
#define HPC_PROTOCOL_OUTPUT_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"

namespace hpc::protocol {

// One stream of a rank's output.
struct StreamId {
  AttemptRef ref;
  int32_t rank = 0;
  bool is_stderr = false;

  auto operator<=>(const StreamId&) const = default;
};

struct LogData {
  StreamId stream;
  int64_t offset = 0;
  std::string data;
};

struct LogEnd {
  StreamId stream;
  int64_t cut_bytes = 0;
};

struct LogAck {
  StreamId stream;
  int64_t offset = 0;
};

struct MetricPoint {
  std::string key;
  int64_t step = 0;
  double value = 0;
  absl::Duration age;
};

struct MetricData {
  AttemptRef ref;
  int32_t rank = 0;
  int64_t end_offset = 0;
  std::vector<MetricPoint> points;
  std::vector<std::string> remarks;  // problems with the file, for the user to read
  bool ended = false;                // nothing more will follow
  bool checkpoint_saved = false;     // a line of this piece says that a checkpoint is whole
};

struct MetricAck {
  AttemptRef ref;
  int32_t rank = 0;
  int64_t end_offset = 0;
};

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_OUTPUT_H_
