// One line of `hpcctl submit`: a JSON object with the options of `hpcctl run` as fields. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_SUBMIT_LINE_H_
#define HPC_CLIENT_CLI_INPUT_SUBMIT_LINE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/input/run_options.h"

namespace hpc::client {

// A usage error names the field and what it takes.
absl::StatusOr<RunOptions> ParseSubmitLine(const std::string& line);

// Returns the names of all fields.
std::vector<std::string> SubmitFields();

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_SUBMIT_LINE_H_
