// TLS without what the members of a cluster have no use for. gRPC 1.51 has no options for it.
#ifndef HPC_COMMON_PKI_LEAN_TLS_H_
#define HPC_COMMON_PKI_LEAN_TLS_H_

namespace hpc::pki {

// From now on this process has of OpenSSL what lean_provider.h leaves it, and exchanges keys by
// X25519 with peers that have it, which takes half as long as by P-256, all that gRPC would offer.
// And no connection of it sends
// - session tickets: no member keeps one, and to make two takes a tenth of a whole handshake;
// - other certificates than it was given: OpenSSL adds the authority's, once it has verified its
//   way there. Who judges a certificate has it, and would decode it for nothing.
// May be called again. Thread-safe.
void KeepTlsLean();

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_LEAN_TLS_H_
