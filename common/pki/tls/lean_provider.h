// OpenSSL with those of its algorithms that a cluster uses.
#ifndef HPC_COMMON_PKI_TLS_LEAN_PROVIDER_H_
#define HPC_COMMON_PKI_TLS_LEAN_PROVIDER_H_

namespace hpc::pki {

// From now on this process has TLS 1.3's ciphers and digests, P-256 and X25519 keys, and what
// private keys are encrypted with, and nothing else of OpenSSL. OpenSSL 3.0 builds a list of all
// decoders that there are for each certificate and key that it reads, and makes an object of every
// cipher when it looks for the first one: half of what a connection costs a program that makes one.
// So it is with the names that former versions knew: only what is kept has one.
//
// Where OpenSSL is linked statically but HasLeanProvider is false, this process has all algorithms
// of OpenSSL, even if the machine's configuration (OPENSSL_CONF) activates other providers or one
// that cannot be loaded: without this call it would then have none. A shared OpenSSL is left alone.
//
// Before anything else of OpenSSL, or it keeps all that it has; also where its configuration
// activates a provider of its own. Thread-safe; again: nothing.
void UseLeanProvider();

// Whether UseLeanProvider leaves anything out: only OpenSSL 3.0, which it was made for, and only
// where that is linked statically. Later versions are faster by themselves, and have algorithms
// that nobody has looked at here.
bool HasLeanProvider();

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_TLS_LEAN_PROVIDER_H_
