// Says what to do about failures whose own words do not say it. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_FAILURE_HINT_H_
#define HPC_CLIENT_CLI_SHOW_FAILURE_HINT_H_

#include <string>

#include "common/files/user_state.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// Returns one line of advice for a run that has failed, by its reason, or "" where none is known.
// If a script asked for its local rank in another spelling, it names the option for that. If the
// worker's interpreter lacks a module, it names the interpreter of the caller's virtual
// environment.
std::string FailureHint(const v1::Run& run, const Environment& environment);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_FAILURE_HINT_H_
