// What an owner asks of the worker on the owner's PC. worker/runtime/control_server.h
// describes the words.
#ifndef HPC_WORKER_OWNER_CONTROL_REQUEST_H_
#define HPC_WORKER_OWNER_CONTROL_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/core/yield.h"

namespace hpc::worker {

enum class ControlCommand { kStatus, kReclaim, kLend };

struct ControlRequest {
  ControlCommand command = ControlCommand::kStatus;
  YieldRequest reclaim;  // only for kReclaim
};

// InvalidArgument, with words for the owner: there is no such command, or it does not take
// something in the request.
absl::StatusOr<ControlRequest> ParseControlRequest(const std::string& line);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OWNER_CONTROL_REQUEST_H_
