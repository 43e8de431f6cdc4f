// Whether a certificate was signed by an authority that is trusted, and for whom it speaks.
#ifndef HPC_COMMON_PKI_VERIFY_H_
#define HPC_COMMON_PKI_VERIFY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/pki/certificate.h"
#include "common/pki/identity.h"

namespace hpc::pki {

enum class Use { kClient, kServer };

// Follows `certificate` over `between` (untrusted, any order) to one of `trusted` at the time
// `now`. InfinitePast as `now` leaves times unchecked, for those who do not know the time yet.
// Unauthenticated says in words what is wrong: expired since when, valid from when, signed by
// another authority, not made for this use, naming no member.
absl::StatusOr<Identity> Verify(const Certificate& certificate,
                                const std::vector<Certificate>& between,
                                const std::vector<Certificate>& trusted, Use use, absl::Time now);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_VERIFY_H_
