// Refuses requests that contradict themselves or can never be met, before anything changes.
#ifndef HPC_COORDINATOR_CORE_POLICY_REQUEST_CHECK_H_
#define HPC_COORDINATOR_CORE_POLICY_REQUEST_CHECK_H_

#include "absl/status/status.h"
#include "coordinator/core/state/node_table.h"
#include "coordinator/core/values/model.h"

namespace hpc::coordinator {

// InvalidArgument: contradictory, or more ranks than a node or a run may have. NotFound: names a
// node that does not exist (says the nearest). FailedPrecondition: more nodes or GPUs than exist,
// busy, off and reclaimed ones included (says what exists). A cluster that no node has joined yet
// may still get whatever is asked for.
absl::Status CheckRequest(const RunRequest& request, const NodeTable& nodes);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_REQUEST_CHECK_H_
