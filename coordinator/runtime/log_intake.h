// Output of ranks on its way to the log store. It is appended as it comes, made durable together,
// and acknowledged after that.
#ifndef HPC_COORDINATOR_RUNTIME_LOG_INTAKE_H_
#define HPC_COORDINATOR_RUNTIME_LOG_INTAKE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/store.h"
#include "protocol/output.h"

namespace hpc::coordinator {

struct LogReceipt {
  std::string node;  // the node to tell
  protocol::StreamId stream;
  int64_t length = 0;
};

class LogIntake {
 public:
  explicit LogIntake(LogStore* logs) : logs_(logs) {}

  // OutOfRange: bytes before `offset` are missing; the worker must begin again at its last
  // acknowledgement. Any other error means that the disk cannot be written.
  absl::Status Data(const std::string& node, const protocol::StreamId& stream, int64_t offset,
                    absl::string_view data, absl::Time now);
  // `awaited`: somebody may be waiting for just this end.
  absl::Status End(const std::string& node, const protocol::StreamId& stream, int64_t cut_bytes,
                   bool awaited);

  bool dirty() const { return !receipts_.empty(); }
  // The end of a stream is awaited.
  bool urgent() const { return urgent_; }

  // Makes all of it durable except `batch`, which the caller commits. Returns what may be
  // acknowledged after that commit.
  absl::StatusOr<std::vector<LogReceipt>> Flush(WriteBatch* batch);

 private:
  LogStore* logs_;
  std::map<protocol::StreamId, LogReceipt> receipts_;
  bool urgent_ = false;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RUNTIME_LOG_INTAKE_H_
