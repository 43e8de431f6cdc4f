// Programs that run another program: a Python, a shell. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_INTERPRETERS_H_
#define HPC_CLIENT_CLI_INPUT_INTERPRETERS_H_

#include "absl/strings/string_view.h"

namespace hpc::client {

// The last part of a path.
absl::string_view FileName(absl::string_view path);

// Whether a file of this name is a Python: "python", "python3", "python3.11".
bool IsPython(absl::string_view name);

// Whether a file of this name is a shell: "sh", "bash".
bool IsShell(absl::string_view name);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_INTERPRETERS_H_
