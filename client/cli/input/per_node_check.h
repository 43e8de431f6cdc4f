// Finds commands of --mode per-node that would not find their peers: a launcher that is told to
// train alone, the same place for each node, or a launcher that asks nobody where the others are.
// Pure.
#ifndef HPC_CLIENT_CLI_INPUT_PER_NODE_CHECK_H_
#define HPC_CLIENT_CLI_INPUT_PER_NODE_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// Returns a usage error where torchrun's own options contradict what it is told of its peers, and
// for --legacy-local-rank, which is for ranks that hpcctl starts itself.
absl::Status CheckPerNode(const v1::RunSpec& spec);

// Returns what to say before the start of a launcher that trains on each node alone, unless its own
// options name the other nodes, of a torchrun in a script that is told to, and of a Python script
// that makes its ranks in another mode's way; "" for any other command. `script`: the text of
// ScriptOf(command), or "" if it cannot be read here.
std::string PerNodeHint(const v1::RunSpec& spec, absl::string_view script);

// Returns the words of a shell's text by which a torchrun in it would train on each node alone, as
// "--standalone", or "".
std::string AloneInShellText(absl::string_view text);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_PER_NODE_CHECK_H_
