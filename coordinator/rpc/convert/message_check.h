// Checks requests of clients, and of workers the hello and what they send of logs, before anything
// is done with them. It refuses text that cannot be stored, values out of range, and
// contradictions. What depends on the cluster's state is checked by the core, a submission by
// convert_spec.h. convert_worker.h makes the text of other reports storable.
#ifndef HPC_COORDINATOR_RPC_CONVERT_MESSAGE_CHECK_H_
#define HPC_COORDINATOR_RPC_CONVERT_MESSAGE_CHECK_H_

#include "absl/status/status.h"
#include "hpc/v1/nodes.pb.h"
#include "hpc/v1/runs.pb.h"
#include "hpc/v1/worker.pb.h"

namespace hpc::coordinator {

// InvalidArgument: the error names field, value and what is allowed. ResourceExhausted: too large.
absl::Status CheckWait(const v1::WaitRequest& request);
absl::Status CheckListRuns(const v1::ListRunsRequest& request);
absl::Status CheckListEvents(const v1::ListEventsRequest& request);
absl::Status CheckReadLog(const v1::ReadLogRequest& request);
absl::Status CheckReclaim(const v1::ReclaimRequest& request);

// FailedPrecondition: the protocol version is not spoken here (both versions are named).
absl::Status CheckHello(const v1::Hello& hello);
absl::Status CheckLogData(const v1::LogData& data);
absl::Status CheckLogEnd(const v1::LogEnd& end);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CONVERT_MESSAGE_CHECK_H_
