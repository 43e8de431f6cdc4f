// Owning pointers to OpenSSL's connections, and the settings that all of ours share. Only this
// folder includes it.
#ifndef HPC_COMMON_PKI_TLS_SSL_H_
#define HPC_COMMON_PKI_TLS_SSL_H_

#include <openssl/ssl.h>

#include <array>
#include <memory>

#include "common/pki/openssl.h"

namespace hpc::pki {

using SslCtxPtr = std::unique_ptr<SSL_CTX, FreeWith<&SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, FreeWith<&SSL_free>>;

// Sets a context up for a client: TLS 1.3 alone, with HTTP/2 inside, and otherwise the cheapest
// choices. P-256 comes first because gRPC's servers have it; a client that begins with another
// group is asked to begin again. The first cipher suite is the one for whose digest processors have
// instructions. Only the certificates that were given are sent. OpenSSL would add the authority's,
// which whoever judges them has anyway.
inline void SpeakAsClient(SSL_CTX* context) {
  constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_alpn_protos(context, kHttp2.data(), kHttp2.size());
  SSL_CTX_set1_groups_list(context, "P-256:X25519");
  SSL_CTX_set_ciphersuites(
      context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
  SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
}

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_TLS_SSL_H_
