#include "common/files/sha256.h"

#include <openssl/evp.h>

#include "absl/strings/escaping.h"

namespace hpc {

Sha256::Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
}

void Sha256::Add(absl::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Sha256::Hex() {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned int size = 0;
  EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), &size);
  digest.resize(size);
  return absl::BytesToHexString(digest);
}

std::string Sha256Hex(absl::string_view bytes) {
  Sha256 hash;
  hash.Add(bytes);
  return hash.Hex();
}

}  // namespace hpc
