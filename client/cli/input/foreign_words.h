// What other systems call the things that hpcctl does. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_FOREIGN_WORDS_H_
#define HPC_CLIENT_CLI_INPUT_FOREIGN_WORDS_H_

#include "absl/strings/string_view.h"

namespace hpc::client {

// A sentence that names our command for another system's, as for "squeue"; "" if none is known.
absl::string_view OursForCommand(absl::string_view typed);

// The same for an option of `hpcctl run`, as for "--nproc-per-node".
absl::string_view OursForRunOption(absl::string_view typed);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_FOREIGN_WORDS_H_
