// Commands that only a shell understands: "cd /data", "FOO=1 python x.py", "'a && b'". Ranks are
// started without one. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_SHELL_WORDS_H_
#define HPC_CLIENT_CLI_INPUT_SHELL_WORDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace hpc::client {

// A usage error that says what to type instead. OK for any other command, also for one that does
// not exist, since only its node knows that.
absl::Status CheckShellWords(const std::vector<std::string>& command);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_SHELL_WORDS_H_
