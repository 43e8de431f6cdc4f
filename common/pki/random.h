// Randomness that nobody can guess.
#ifndef HPC_COMMON_PKI_RANDOM_H_
#define HPC_COMMON_PKI_RANDOM_H_

#include <string>

#include "absl/status/statusor.h"

namespace hpc::pki {

// Internal: the kernel gives none.
absl::StatusOr<std::string> RandomBytes(size_t count);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_RANDOM_H_
