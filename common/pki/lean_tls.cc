#include "common/pki/lean_tls.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>

#include "common/pki/lean_provider.h"

namespace hpc::pki {
namespace {

// OpenSSL calls it with every SSL that is made, with what it has from its SSL_CTX already set.
void OnNewSsl(void* ssl, void*, CRYPTO_EX_DATA*, int, long, void*) {
  SSL_set_num_tickets(static_cast<SSL*>(ssl), 0);
  SSL_set_mode(static_cast<SSL*>(ssl), SSL_MODE_NO_AUTO_CHAIN);
  SSL_set1_groups_list(static_cast<SSL*>(ssl), "X25519:P-256");
  // First the one whose digest processors have instructions for.
  SSL_set_ciphersuites(
      static_cast<SSL*>(ssl),
      "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256");
}

}  // namespace

void KeepTlsLean() {
  UseLeanProvider();
  [[maybe_unused]] static const int hook =
      SSL_get_ex_new_index(0, nullptr, &OnNewSsl, nullptr, nullptr);
}

}  // namespace hpc::pki
