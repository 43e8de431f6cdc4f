// Turns what a user typed into what the coordinator is asked for. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_RUN_SPEC_H_
#define HPC_CLIENT_CLI_INPUT_RUN_SPEC_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/input/run_options.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// The user who asks, and from where.
struct Caller {
  std::string workdir;  // an absolute path
  std::string host;
  int32_t umask = 022;
  std::vector<std::pair<std::string, std::string>> environment;
};

// Adds what only the caller knows. It returns usage errors only, for a contradiction, or for text
// that cannot be stored. The error names the option, the value and what is allowed.
absl::StatusOr<v1::RunSpec> BuildSpec(RunOptions run, const Caller& caller);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_RUN_SPEC_H_
