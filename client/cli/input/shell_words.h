// Commands that only a shell understands: "cd /data", "FOO=1 python x.py", "'a && b'". Ranks are
// started without one. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_SHELL_WORDS_H_
#define HPC_CLIENT_CLI_INPUT_SHELL_WORDS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hpc::client {

// Returns the lines of a shell's text without its comments and here-documents. Lines that end with
// a backslash and go on in the next are one.
std::vector<std::string> ShellLines(absl::string_view text);

// Returns the commands of such a line, each as its words: of "if a 'b c'; then D=1 e | f; fi" the
// commands "a", "e" and "f". Words of the shell's own, assignments in front, what is quoted and has
// a space, and redirections are left out. A "|" in front of a command is not told from a ";".
std::vector<std::vector<std::string>> ShellCommands(absl::string_view line);

// The same, with the parts of each pipe together.
std::vector<std::vector<std::vector<std::string>>> ShellPipes(absl::string_view line);

// A usage error that says what to type instead. OK for any other command, also for one that does
// not exist, since only its node knows that.
absl::Status CheckShellWords(const std::vector<std::string>& command);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_SHELL_WORDS_H_
