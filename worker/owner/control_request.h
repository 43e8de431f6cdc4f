// What an owner asks of the worker on his PC; control_server.h has the words.
#ifndef HPC_WORKER_OWNER_CONTROL_REQUEST_H_
#define HPC_WORKER_OWNER_CONTROL_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "worker/core/yield.h"

namespace hpc::worker {

enum class ControlCommand { kStatus, kReclaim, kLend };

struct ControlRequest {
  ControlCommand command = ControlCommand::kStatus;
  YieldRequest reclaim;  // of kReclaim
};

// InvalidArgument, for the owner: no such command, or something in it that it does not take.
absl::StatusOr<ControlRequest> ParseControlRequest(const std::string& line);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OWNER_CONTROL_REQUEST_H_
