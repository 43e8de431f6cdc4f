#include "common/pki/private_key.h"

#include <openssl/pem.h>

#include <algorithm>
#include <cstring>

#include "common/pki/openssl.h"

namespace hpc::pki {
namespace {

// Without this callback OpenSSL would ask for a missing passphrase on the terminal.
int GivePassphrase(char* buffer, int size, int /*writing*/, void* user) {
  const auto& passphrase = *static_cast<const absl::string_view*>(user);
  if (passphrase.empty() || passphrase.size() > static_cast<size_t>(size)) return -1;
  std::memcpy(buffer, passphrase.data(), passphrase.size());
  return static_cast<int>(passphrase.size());
}

}  // namespace

absl::StatusOr<PrivateKey> PrivateKey::Generate() {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  if (key == nullptr) return OpenSslError(absl::StatusCode::kInternal, "cannot make a key");
  return PrivateKey(std::shared_ptr<EVP_PKEY>(key, &EVP_PKEY_free));
}

absl::StatusOr<PrivateKey> PrivateKey::FromPem(absl::string_view pem,
                                               absl::string_view passphrase) {
  const BioPtr bio = ReadFrom(pem);
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(bio.get(), nullptr, &GivePassphrase, &passphrase);
  if (key == nullptr) {
    return OpenSslError(absl::StatusCode::kInvalidArgument,
                        passphrase.empty() ? "not a private key that opens without a passphrase"
                                           : "not a private key that opens with this passphrase");
  }
  return PrivateKey(std::shared_ptr<EVP_PKEY>(key, &EVP_PKEY_free));
}

absl::StatusOr<std::string> PrivateKey::ToPem(absl::string_view passphrase) const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  const EVP_CIPHER* const cipher = passphrase.empty() ? nullptr : EVP_aes_256_cbc();
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), cipher, nullptr, 0, &GivePassphrase,
                                    &passphrase) != 1) {
    return OpenSslError(absl::StatusCode::kInternal, "cannot write the private key");
  }
  return Written(bio.get());
}

}  // namespace hpc::pki
