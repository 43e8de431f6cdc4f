#include "common/pki/tls/lean_provider.h"

#include <openssl/core_dispatch.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/opensslv.h>
#include <openssl/provider.h>

#include <algorithm>
#include <map>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/strings/string_view.h"

// OpenSSL's own provider. Only the static library has it; elsewhere this is null.
extern "C" ABSL_ATTRIBUTE_WEAK OSSL_provider_init_fn ossl_default_provider_init;

namespace hpc::pki {
namespace {

// Lists what is kept: for each operation, the first name of each algorithm. An operation that is
// not listed keeps all of its algorithms.
const std::map<int, std::vector<absl::string_view>>& Kept() {
  static const auto* const kept = new std::map<int, std::vector<absl::string_view>>{
      {OSSL_OP_DIGEST, {"SHA1", "SHA2-224", "SHA2-256", "SHA2-384", "SHA2-512"}},
      {OSSL_OP_CIPHER,
       {"AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305", "ChaCha20", "AES-256-ECB",
        "AES-256-CTR",    // the random generator needs it and the one before
        "AES-256-CBC"}},  // encrypts an authority's key
      {OSSL_OP_MAC, {"HMAC"}},
      {OSSL_OP_KDF, {"HKDF", "TLS13-KDF", "PBKDF2"}},
      {OSSL_OP_KEYMGMT, {"EC", "X25519", "HMAC", "HKDF"}},
      {OSSL_OP_KEYEXCH, {"ECDH", "X25519", "HKDF"}},
      {OSSL_OP_SIGNATURE, {"ECDSA", "HMAC"}},
      {OSSL_OP_ASYM_CIPHER, {}},
      {OSSL_OP_KEM, {}},
      {OSSL_OP_ENCODER, {"EC"}},
      {OSSL_OP_DECODER, {"EC", "DER"}},
  };
  return *kept;
}

OSSL_FUNC_provider_query_operation_fn* g_query_all = nullptr;

// An array that ends with an entry of null, as OpenSSL's do.
using Algorithms = std::vector<OSSL_ALGORITHM>;

Algorithms Filter(const OSSL_ALGORITHM* all, const std::vector<absl::string_view>& names) {
  Algorithms kept;
  for (; all != nullptr && all->algorithm_names != nullptr; ++all) {
    const absl::string_view every = all->algorithm_names;
    const absl::string_view first = every.substr(0, every.find(':'));
    if (std::find(names.begin(), names.end(), first) != names.end()) kept.push_back(*all);
  }
  kept.push_back({});
  return kept;
}

const OSSL_ALGORITHM* Query(void* provider, int operation, int* no_cache) {
  const OSSL_ALGORITHM* const all = g_query_all(provider, operation, no_cache);
  const auto names = Kept().find(operation);
  if (names == Kept().end()) return all;
  static auto* const tables = [provider] {
    auto* const made = new std::map<int, Algorithms>;
    int ignored;
    for (const auto& [of, kept] : Kept()) {
      (*made)[of] = Filter(g_query_all(provider, of, &ignored), kept);
    }
    return made;
  }();
  return tables->at(operation).data();
}

int Begin(const OSSL_CORE_HANDLE* handle, const OSSL_DISPATCH* core,
          const OSSL_DISPATCH** functions, void** provider) {
  const OSSL_DISPATCH* all = nullptr;
  if (ossl_default_provider_init(handle, core, &all, provider) != 1) return 0;
  static auto* const ours = [all] {
    auto* const made = new std::vector<OSSL_DISPATCH>;
    for (const OSSL_DISPATCH* one = all; one->function_id != 0; ++one) {
      made->push_back(*one);
      if (one->function_id != OSSL_FUNC_PROVIDER_QUERY_OPERATION) continue;
      g_query_all = OSSL_FUNC_provider_query_operation(one);
      made->back().function = reinterpret_cast<void (*)()>(&Query);
    }
    made->push_back({});
    return made;
  }();
  *functions = ours->data();
  return 1;
}

// Besides what a provider has, OpenSSL keeps a list of all algorithms by the names of former
// versions, and fills it when it initializes. An algorithm outside this list has no number, and
// certificates need the number. So exactly the algorithms that are kept are added here.
void NameWhatIsKept() {
  OPENSSL_init_crypto(
      OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS |
          OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS,  // OpenSslError needs a few, and late
      nullptr);
  for (const EVP_MD* digest :
       {EVP_sha1(), EVP_sha224(), EVP_sha256(), EVP_sha384(), EVP_sha512()}) {
    EVP_add_digest(digest);
  }
  for (const EVP_CIPHER* cipher :
       {EVP_aes_128_gcm(), EVP_aes_256_gcm(), EVP_chacha20_poly1305(), EVP_chacha20(),
        EVP_aes_256_ecb(), EVP_aes_256_ctr(), EVP_aes_256_cbc()}) {
    EVP_add_cipher(cipher);
  }
}

bool LoadLean() {
  NameWhatIsKept();
  // Loading any provider keeps OpenSSL from loading the default one by itself. If ours cannot be
  // loaded, the default one is loaded explicitly.
  return (OSSL_PROVIDER_add_builtin(nullptr, "hpc", &Begin) == 1 &&
          OSSL_PROVIDER_load(nullptr, "hpc") != nullptr) ||
         OSSL_PROVIDER_load(nullptr, "default") != nullptr;
}

bool IsLinkedStatically() { return ossl_default_provider_init != nullptr; }

}  // namespace

bool HasLeanProvider() {
#if OPENSSL_VERSION_MAJOR == 3 && OPENSSL_VERSION_MINOR == 0
  return IsLinkedStatically();
#else
  return false;
#endif
}

void UseLeanProvider() {
  if (!IsLinkedStatically()) return;
  [[maybe_unused]] static const bool loaded =
      HasLeanProvider() ? LoadLean() : OSSL_PROVIDER_load(nullptr, "default") != nullptr;
}

}  // namespace hpc::pki
