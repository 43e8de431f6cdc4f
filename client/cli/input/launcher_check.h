// Finds commands that start the ranks themselves, as torchrun does, and that would be started once
// per rank; also behind "env", "uv run" and the like, and in a script. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_LAUNCHER_CHECK_H_
#define HPC_CLIENT_CLI_INPUT_LAUNCHER_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// Returns "torchrun", "accelerate launch", or "python -m torch.distributed.run" with the words as
// typed. Returns "" for a command that is not a launcher, or does not look like one.
using CommandWords = google::protobuf::RepeatedPtrField<std::string>;
std::string LauncherIn(const CommandWords& command);

// Whether it finds its peers in a way of its own, and so is best left out: all but torchrun's.
bool IsOtherLauncher(absl::string_view launcher);

// Returns "-N 2 ", to be typed after "hpcctl run "; "" for one node.
std::string NodesOption(const v1::RunSpec& spec);

// What to type for a fabric run on each node that is told where the others are.
std::string FabricCommand(const v1::RunSpec& spec);

// Returns the launcher that a line of a shell's text starts, or "".
std::string LauncherInShellText(absl::string_view text);
// Returns what a shell reads: the text behind "bash -c", or `script`, the text of
// ScriptOf(command), if that is a shell's. "" for any other command.
std::string ShellTextOf(const CommandWords& command, absl::string_view script);
// Returns the script that the command is, or that it gives to a shell or a Python; "" for any other
// command.
std::string ScriptOf(const CommandWords& command);

// Returns a usage error where a launcher would be started more than once on a node, or on nodes
// that would not find each other, and for a command of Slurm's. --mode says that this is meant, and
// then there is no error.
absl::Status CheckLauncher(const v1::RunSpec& spec);

// Returns what to say before the start of a run that is right on some nodes only, and "" for any
// other run. `script` is the text of ScriptOf(command), or "" if it cannot be read here.
std::string LauncherHint(const v1::RunSpec& spec, absl::string_view script);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_LAUNCHER_CHECK_H_
