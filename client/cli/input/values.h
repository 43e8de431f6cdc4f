// The values of options of a kind, read from text. An error is a usage error that names the option
// and what it takes. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_VALUES_H_
#define HPC_CLIENT_CLI_INPUT_VALUES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace hpc::client {

absl::StatusOr<int64_t> ReadInteger(absl::string_view option, absl::string_view value, int64_t min,
                                    int64_t max);
absl::StatusOr<absl::Duration> ReadDuration(absl::string_view option, absl::string_view value);
// Returns the place of the value among the choices.
absl::StatusOr<size_t> ReadChoice(absl::string_view option, absl::string_view value,
                                  const std::vector<std::string>& choices);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_VALUES_H_
