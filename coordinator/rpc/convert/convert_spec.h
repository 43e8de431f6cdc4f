// What a user asks for: whether it is sound, and its conversion between the wire and plain values.
#ifndef HPC_COORDINATOR_RPC_CONVERT_CONVERT_SPEC_H_
#define HPC_COORDINATOR_RPC_CONVERT_CONVERT_SPEC_H_

#include "absl/status/status.h"
#include "coordinator/core/values/records.h"
#include "coordinator/core/values/reports.h"
#include "hpc/v1/run.pb.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

// InvalidArgument: the error names field, value and what is allowed. ResourceExhausted: too large.
absl::Status CheckSubmit(const v1::SubmitRequest& request);
absl::Status CheckChange(const v1::ChangeRequest& request);

// The two halves of a submission that passed CheckSubmit, with defaults filled in.
RunRequest ToRunRequest(const v1::RunSpec& spec);
RunProgram ToRunProgram(const v1::SubmitRequest& request);

// The reverse, for reading a run back.
v1::RunSpec ToSpec(const RunRequest& request, const RunProgram& program);

// A change that passed CheckChange.
RunChange ToRunChange(const v1::ChangeRequest& request);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_CONVERT_CONVERT_SPEC_H_
