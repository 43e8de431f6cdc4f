// Guesses what a mistyped word was meant to be. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_SUGGEST_H_
#define HPC_CLIENT_CLI_INPUT_SUGGEST_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace hpc::client {

// Returns the only candidate that begins with `typed`, else the nearest one by spelling, else "".
std::string Suggest(absl::string_view typed, const std::vector<std::string>& candidates);

// Returns " Did you mean 'status'?", or "" when nothing is near.
std::string DidYouMean(absl::string_view typed, const std::vector<std::string>& candidates);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_SUGGEST_H_
