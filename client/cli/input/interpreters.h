// Programs that run another program: a Python, a shell. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_INTERPRETERS_H_
#define HPC_CLIENT_CLI_INPUT_INTERPRETERS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace hpc::client {

// The last part of a path.
absl::string_view FileName(absl::string_view path);

// Whether a file of this name is a Python: "python", "python3", "python3.11".
bool IsPython(absl::string_view name);

// Whether a file of this name is a shell: "sh", "bash".
bool IsShell(absl::string_view name);

// How many words stand in front of the command proper: of "env A=1 torchrun" two, of "uv run
// python" two. 0: the first word is the command, or is not known to start another one.
int WordsInFront(absl::Span<const std::string> command);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_INTERPRETERS_H_
