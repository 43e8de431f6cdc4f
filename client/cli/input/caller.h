// What a command needs to know of the process it runs in.
#ifndef HPC_CLIENT_CLI_INPUT_CALLER_H_
#define HPC_CLIENT_CLI_INPUT_CALLER_H_

#include <string>

#include "client/cli/input/run_spec.h"

namespace hpc::client {

// The current directory as the user's shell names it ($PWD, when that is the same directory: it
// keeps symbolic links, which other PCs are likelier to share than what they resolve to), the host
// name and the environment.
Caller ThisCaller();

// The name of the account that the process runs as; "" when the system has none for it.
std::string AccountName();

// The logical name of the current directory; "" when it does not exist any more.
std::string LogicalWorkdir(const char* pwd);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_CALLER_H_
