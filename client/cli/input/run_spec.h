// From what a user typed to what the coordinator is asked. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_RUN_SPEC_H_
#define HPC_CLIENT_CLI_INPUT_RUN_SPEC_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/input/run_options.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// Who asks, and from where.
struct Caller {
  std::string workdir;  // absolute
  std::string host;
  std::vector<std::pair<std::string, std::string>> environment;
};

// Usage errors only: a contradiction, or text that cannot be stored; it names option, value and
// what is allowed.
absl::StatusOr<v1::RunSpec> BuildSpec(const RunOptions& run, const Caller& caller);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_RUN_SPEC_H_
