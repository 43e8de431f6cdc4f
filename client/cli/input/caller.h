// The facts about its process that a command must know.
#ifndef HPC_CLIENT_CLI_INPUT_CALLER_H_
#define HPC_CLIENT_CLI_INPUT_CALLER_H_

#include <string>

#include "client/cli/input/run_spec.h"

namespace hpc::client {

// Reads the host name, the environment and the current directory. The directory is the one that the
// user's shell names ($PWD), if that is the same directory. $PWD keeps symbolic links, and other
// PCs are likelier to have the same links than the same targets.
Caller ThisCaller();

// Returns the name of the account that the process runs as, or "" when the system has none for it.
std::string AccountName();

// Returns the logical name of the current directory, or "" when it does not exist any more.
std::string LogicalWorkdir(const char* pwd);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_CALLER_H_
