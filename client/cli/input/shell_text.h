// The commands in a text that a shell would carry out, as far as hints about it need them. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_SHELL_TEXT_H_
#define HPC_CLIENT_CLI_INPUT_SHELL_TEXT_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::client {

// Returns whether it is the name of a variable and its value: "FOO=1".
bool IsAssignment(absl::string_view word);

// Returns the lines of a shell's text without its comments and here-documents. Lines that end with
// a backslash and go on in the next are one.
std::vector<std::string> ShellLines(absl::string_view text);

// Returns the commands of such a line, each as its words: of "if a 'b c'; then D=1 e | f; fi" the
// commands "a", "e" and "f". Words of the shell's own, assignments in front, what is quoted and has
// a space, and redirections are left out. A "|" in front of a command is not told from a ";".
std::vector<std::vector<std::string>> ShellCommands(absl::string_view line);

// The same, with the commands of each pipe together. What is in parentheses makes pipes of its own:
// so the last pipe of "(a; b) | c" is an empty command and "c".
std::vector<std::vector<std::vector<std::string>>> ShellPipes(absl::string_view line);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_SHELL_TEXT_H_
