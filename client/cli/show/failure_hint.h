// What to do about failures whose own words do not say it. Pure.
#ifndef HPC_CLIENT_CLI_SHOW_FAILURE_HINT_H_
#define HPC_CLIENT_CLI_SHOW_FAILURE_HINT_H_

#include <string>

#include "common/files/user_state.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// One line for a run that has failed, read from its reason: the option for a script that asked for
// its local rank in another spelling; the interpreter of the caller's virtual environment where the
// worker's lacks a module. "" where nothing is known.
std::string FailureHint(const v1::Run& run, const Environment& environment);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_SHOW_FAILURE_HINT_H_
