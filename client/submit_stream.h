// Many submissions on one stream that outlasts the coordinator's restarts. Contract: api.h.
#ifndef HPC_CLIENT_SUBMIT_STREAM_H_
#define HPC_CLIENT_SUBMIT_STREAM_H_

#include <functional>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "client/connection.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::client {

absl::Status RunSubmitStream(Connection* connection,
                             std::function<std::optional<v1::RunSpec>()> next,
                             absl::FunctionRef<void(const v1::SubmitManyResponse&)> answered);

}  // namespace hpc::client

#endif  // HPC_CLIENT_SUBMIT_STREAM_H_
