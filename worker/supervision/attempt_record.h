// What a worker must not forget of an attempt: the file `record` in the folder around the attempt
// dir, which is the worker's alone where the ranks are of another account. One line for each thing,
//
//   attempt {"run":12,"number":2,...}
//   store {"address":"10.0.0.1",...}
//   cgroup /sys/fs/cgroup/hpc-12.2-...
//   arrived 3
//
// to which lines are added, and of each kind the last holds: one file, since to make and delete
// several is a good part of what a short run costs (docs/PERFORMANCE.md). What is above the last
// line of kind `attempt` was another's, which had the folder before.
#ifndef HPC_WORKER_SUPERVISION_ATTEMPT_RECORD_H_
#define HPC_WORKER_SUPERVISION_ATTEMPT_RECORD_H_

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
// Begins it anew, with its line of kind `attempt` and others behind it, in one write.
// InvalidArgument: a value is more than one line.
absl::Status BeginRecord(const std::string& attempt_folder, const std::string& value,
                         const std::vector<RecordLine>& others = {});
absl::Status AddToRecord(const std::string& attempt_folder, const RecordLine& line);

// NotFound: there is no record, or no such line in what is this attempt's. DataLoss: the last one
// is torn.
absl::StatusOr<std::string> ReadRecord(const std::string& attempt_folder, const std::string& kind);

}  // namespace hpc::worker

#endif  // HPC_WORKER_SUPERVISION_ATTEMPT_RECORD_H_
