// Names our words for the commands and options of other systems. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_FOREIGN_WORDS_H_
#define HPC_CLIENT_CLI_INPUT_FOREIGN_WORDS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace hpc::client {

// Returns a sentence that names our command for another system's, such as "squeue", or "" if none
// is known.
absl::string_view OursForCommand(absl::string_view typed);

// Does the same for an option of `hpcctl run`, such as "--nproc-per-node".
absl::string_view OursForRunOption(absl::string_view typed);

// Says that the options for Slurm in a script are not read, and names some; "" if it has none.
std::string SlurmLinesHint(absl::string_view file, absl::string_view script);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_FOREIGN_WORDS_H_
