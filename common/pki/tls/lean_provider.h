// OpenSSL with only those of its algorithms that a cluster uses.
#ifndef HPC_COMMON_PKI_TLS_LEAN_PROVIDER_H_
#define HPC_COMMON_PKI_TLS_LEAN_PROVIDER_H_

namespace hpc::pki {

// From now on this process has TLS 1.3's ciphers and digests, P-256 and X25519 keys, and what
// private keys are encrypted with, and nothing else of OpenSSL. The reason is time: OpenSSL 3.0
// builds a list of all available decoders for each certificate and key that it reads, and makes an
// object of every cipher when it looks for the first one. That is half of the cost of a connection
// for a program that makes a single one. The list of names that former versions knew is cut down in
// the same way: it holds only the algorithms that are kept.
//
// A static OpenSSL for which HasLeanProvider is false keeps all of its algorithms. This call loads
// them even if the machine's configuration (OPENSSL_CONF) names another provider or one that cannot
// be loaded, with which there would be none. A shared OpenSSL is left alone.
//
// Call it before anything else of OpenSSL. OpenSSL keeps all that it has if it was used before, or
// if its configuration activates a provider of its own. Thread-safe; a second call does nothing.
void UseLeanProvider();

// Returns whether UseLeanProvider leaves anything out in this program. It needs OpenSSL 3.0, which
// it was made for, linked statically. Other versions keep everything: later ones are faster by
// themselves, and have algorithms that have not been examined for this.
bool HasLeanProvider();

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_TLS_LEAN_PROVIDER_H_
