// Refuses requests that contradict themselves or can never be met, before anything changes.
#ifndef HPC_COORDINATOR_CORE_POLICY_REQUEST_CHECK_H_
#define HPC_COORDINATOR_CORE_POLICY_REQUEST_CHECK_H_

#include "absl/status/status.h"
#include "coordinator/core/state/node_table.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

// InvalidArgument: the request contradicts itself, or wants more ranks than a node or a run may
// have. NotFound: a named node does not exist (the error says the nearest name).
// FailedPrecondition: the request wants more nodes or GPUs than exist, busy, off and reclaimed ones
// included (the error says what exists). As long as no node has joined the cluster, nothing is too
// much: it may still come.
absl::Status CheckRequest(const RunRequest& request, const NodeTable& nodes);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_POLICY_REQUEST_CHECK_H_
