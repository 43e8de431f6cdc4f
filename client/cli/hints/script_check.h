// Finds what a script says that lets its run end otherwise than its user means. Pure.
#ifndef HPC_CLIENT_CLI_HINTS_SCRIPT_CHECK_H_
#define HPC_CLIENT_CLI_HINTS_SCRIPT_CHECK_H_

#include <string>

#include "absl/strings/string_view.h"
#include "hpc/v1/run.pb.h"

namespace hpc::client {

// Both return what to say before the start of such a run, and "" for any other. `script`: the text
// of ScriptOf(command), or "" if it cannot be read here.

// For a Python, or a launcher, in front of "| tee" in a shell's text that does not say pipefail:
// the shell ends with tee's exit code, which is 0.
std::string PipeHint(const v1::RunSpec& spec, absl::string_view script);

// For a script on several nodes whose Lightning Trainer is not told how many there are: it takes
// one for granted.
std::string TrainerHint(const v1::RunSpec& spec, absl::string_view script);

// Whether a shell's text starts several programs that train, as "python train.py; python eval.py".
// Each of them looks for a store in which nobody has met before, and a worker's store serves all of
// a rank's programs.
bool StartsProgramsInTurn(const v1::RunSpec& spec, absl::string_view script);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_HINTS_SCRIPT_CHECK_H_
