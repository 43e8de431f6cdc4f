// Owning pointers to OpenSSL's connections, and what all of ours have. Included by this folder
// only.
#ifndef HPC_COMMON_PKI_SSL_H_
#define HPC_COMMON_PKI_SSL_H_

#include <openssl/ssl.h>

#include <array>
#include <memory>

#include "common/pki/openssl.h"

namespace hpc::pki {

using SslCtxPtr = std::unique_ptr<SSL_CTX, FreeWith<&SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, FreeWith<&SSL_free>>;

// A client's: TLS 1.3 alone, and HTTP/2 in it.
inline void SpeakAsClient(SSL_CTX* context) {
  constexpr std::array<unsigned char, 3> kHttp2 = {2, 'h', '2'};
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_alpn_protos(context, kHttp2.data(), kHttp2.size());
}

}  // namespace hpc::pki

#endif  // HPC_COMMON_PKI_SSL_H_
