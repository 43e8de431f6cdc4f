// What a worker must not forget about an attempt is in the file `record`. That is in the folder
// around the attempt dir. If the ranks have another account, only the worker can write there. The
// file has one line for each thing:
//
//   attempt {"run":12,"number":2,...}
//   store {"address":"10.0.0.1",...}
//   cgroup /sys/fs/cgroup/hpc-12.2-...
//   arrived 3
//
// Lines are added, and the last line of each kind is the valid one. It is one file, since making
// and deleting several is a good part of what a short run costs (docs/PERFORMANCE.md). Everything
// above the last line of kind `attempt` belongs to another attempt, which had the folder before.
#ifndef HPC_WORKER_SUPERVISOR_CLIENT_ATTEMPT_RECORD_H_
#define HPC_WORKER_SUPERVISOR_CLIENT_ATTEMPT_RECORD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hpc::worker {

inline constexpr char kRecordName[] = "record", kAttemptLine[] = "attempt";
std::string AttemptRecordPath(const std::string& attempt_folder);

struct RecordLine {
  std::string kind, value;
};
// Begins the record anew: writes its line of kind `attempt`, and others behind it, in one write.
// InvalidArgument: a value is more than one line.
absl::Status BeginRecord(const std::string& attempt_folder, const std::string& value,
                         const std::vector<RecordLine>& others = {});
absl::Status AddToRecord(const std::string& attempt_folder, const RecordLine& line);

// NotFound: there is no record, or no such line in this attempt's part of it. DataLoss: the last
// line of this kind is torn.
absl::StatusOr<std::string> ReadRecord(const std::string& attempt_folder, const std::string& kind);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISOR_CLIENT_ATTEMPT_RECORD_H_
