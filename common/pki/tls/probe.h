// The first contact with a coordinator, made by a program that knows only a hash of its authority's
// key.
#ifndef HPC_COMMON_PKI_TLS_PROBE_H_
#define HPC_COMMON_PKI_TLS_PROBE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/net/endpoint.h"
#include "common/pki/certificate.h"

namespace hpc::pki {

// Returns the certificates that a server shows in a TLS 1.3 handshake, its own first. Nothing is
// verified. Blocks for at most `timeout`. Unavailable: no such host, no route, nobody listens, it
// closed the connection, or it does not speak TLS 1.3; DeadlineExceeded: no answer. The message is
// in words and without the address.
absl::StatusOr<std::vector<Certificate>> FetchCertificates(const Endpoint& endpoint,
                                                           absl::Duration timeout);

// Returns the authority among `shown` whose public key has this hash. It proves first that the
// first of `shown` is a coordinator's certificate which that authority signed. Times are not
// checked, since a PC that joins may have a wrong clock. Unauthenticated: this is not the
// coordinator that was meant.
absl::StatusOr<Certificate> FindAuthority(const std::vector<Certificate>& shown,
                                          absl::string_view authority_hash);

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_TLS_PROBE_H_
