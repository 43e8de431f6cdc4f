// Finds runs that set MASTER_ADDR or MASTER_PORT themselves, where nobody then serves the store
// that their ranks look for. Pure.
#ifndef HPC_CLIENT_CLI_HINTS_ADDRESS_CHECK_H_
#define HPC_CLIENT_CLI_HINTS_ADDRESS_CHECK_H_

#include <string>

#include "absl/strings/string_view.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// Returns what to say before the start of such a run, and "" for any other. `script`: the text of
// ScriptOf(command), or "" if it cannot be read here.
std::string MasterAddressHint(const v1::RunSpec& spec, absl::string_view script);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_HINTS_ADDRESS_CHECK_H_
