// Enumerations as the words that the database holds, and back. The words of states, outcomes and
// power are those that clients see (Name() in records.h).
#ifndef HPC_COORDINATOR_STORE_NAMES_H_
#define HPC_COORDINATOR_STORE_NAMES_H_

#include <optional>

#include "absl/strings/string_view.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

// Defined for RunState, AttemptState, AttemptOutcome (kNone is ""), CauseKind, LaunchMode,
// GrowMode, StoreHost, LegacyLocalRank, Power, DeviceKind and Severity.
template <typename E>
absl::string_view ToWord(E value);

// nullopt: no value of E has this word.
template <typename E>
std::optional<E> FromWord(absl::string_view word);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_STORE_NAMES_H_
