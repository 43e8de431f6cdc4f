// Checks whether a trusted authority signed a certificate, and whom the certificate speaks for.
#ifndef HPC_COMMON_PKI_VERIFY_H_
#define HPC_COMMON_PKI_VERIFY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/certificate.h"
#include "common/pki/identity.h"

namespace hpc::pki {

enum class Use { kClient, kServer };

// Follows the chain from `certificate` over `between` (untrusted, in any order) to one of
// `trusted`, at the time `now`. InfinitePast as `now` leaves times unchecked, for a caller that
// does not know the time yet. Unauthenticated says in words what is wrong: since when it is
// expired, from when it is valid, that another authority signed it, that it was not made for this
// use, or that it names no member.
absl::StatusOr<Identity> Verify(const Certificate& certificate,
                                const std::vector<Certificate>& between,
                                const std::vector<Certificate>& trusted, Use use, absl::Time now);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_VERIFY_H_
