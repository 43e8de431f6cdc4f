// Keeps together what the coordinator knows about keys and members.
#ifndef HPC_COORDINATOR_TRUST_TRUST_H_
#define HPC_COORDINATOR_TRUST_TRUST_H_

#include <utility>

#include "absl/status/status.h"
#include "common/pki/keyring.h"
#include "coordinator/trust/roster.h"

namespace hpc::coordinator {

struct Trust {
  Trust(pki::Keyring ring, TrustSnapshot snapshot)
      : keyring(std::move(ring)), roster(std::move(snapshot)) {}

  pki::Keyring keyring;
  Roster roster;
};

// FailedPrecondition: the coordinator has no authority (`trust` is null); the error says what to
// do.
absl::Status NeedTrust(const Trust* trust);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_TRUST_TRUST_H_
