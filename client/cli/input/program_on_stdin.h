// Interpreters that read their program from standard input, as in "python - <<EOF" and
// "bash -s < setup.sh". Ranks have no standard input, so the program becomes an argument. Pure, but
// for ReadProgram and HasInput.
#ifndef HPC_CLIENT_CLI_INPUT_PROGRAM_ON_STDIN_H_
#define HPC_CLIENT_CLI_INPUT_PROGRAM_ON_STDIN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hpc::client {

// Whether the command is a Python or a shell that is not told what to run: "python", "python3 -u
// -", "bash", "sh -s x", also behind "env", "timeout 60" and the like. Such a command does nothing
// where there is no standard input.
bool ReadsProgram(const std::vector<std::string>& command);

// The words of a command that read the standard input, where they are not those of its own program,
// as of "./in_env.sh python -"; "": there are none.
std::string WordThatReadsInput(const std::vector<std::string>& command);

// Makes "python -c PROGRAM x" of "python - x", and "bash -c PROGRAM bash x" of "bash -s x". The
// command must be one that reads its program.
std::vector<std::string> WithProgram(const std::vector<std::string>& command,
                                     const std::string& program);

// Reads the program to its end. Usage errors: there is none, since `fd` is a terminal or nothing;
// it is not text, or too long for an argument.
absl::StatusOr<std::string> ReadProgram(const std::vector<std::string>& command, int fd);

// The usage error where a program cannot come from standard input.
absl::Status NoProgram(const std::vector<std::string>& command);

// Whether a file, a pipe or a socket is there, and no terminal and not /dev/null.
bool IsFed(int fd);
// Whether something that nobody has read waits at a file or pipe, such as the standard input.
bool HasInput(int fd);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_PROGRAM_ON_STDIN_H_
