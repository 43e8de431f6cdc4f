// A run is submitted, alone or as one of many on a stream.
#ifndef HPC_COORDINATOR_RPC_HANDLERS_SUBMISSION_H_
#define HPC_COORDINATOR_RPC_HANDLERS_SUBMISSION_H_

#include <functional>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "coordinator/rpc/doors/caller.h"
#include "coordinator/runtime/engine.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

// Queues the run in the caller's name. `done` gets its number once it is on disk, or an error:
// those of CheckSubmit, of CheckPriority and of Engine::Submit. Nothing is queued then. Answers,
// errors too, come in the order of the calls.
void SubmitRun(Engine* engine, const Caller& caller, const v1::SubmitRequest& request,
               std::function<void(absl::StatusOr<RunId>)> done);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_HANDLERS_SUBMISSION_H_
