#include "common/pki/tls/lean_provider.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/core.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <utility>

#include "common/pki/certificate.h"
#include "common/pki/openssl.h"
#include "common/pki/private_key.h"
#include "common/status_matchers.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::EndsWith;

// Runs before any test of this program, so that all of them have what the daemons have.
const bool g_used = (UseLeanProvider(), true);

using CipherPtr = std::unique_ptr<EVP_CIPHER, FreeWith<&EVP_CIPHER_free>>;
using SslCtxPtr = std::unique_ptr<SSL_CTX, FreeWith<&SSL_CTX_free>>;

bool HasCipher(const char* name) {
  return CipherPtr(EVP_CIPHER_fetch(nullptr, name, nullptr)) != nullptr;
}

TEST(LeanProviderTest, WhatNoClusterUsesIsNotThere) {
  if (!HasLeanProvider()) GTEST_SKIP() << "OpenSSL is a shared library here, or not 3.0";
  ASSERT_TRUE(g_used);
  ASSERT_EQ(OSSL_PROVIDER_available(nullptr, "hpc"), 1);
  EXPECT_FALSE(HasCipher("CAMELLIA-256-CBC"));
  EXPECT_EQ(EvpPkeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", size_t{2048})), nullptr);
}

TEST(LeanProviderTest, WhatIsWrongWithAFileIsSaidInWords) {
  EXPECT_THAT(
      Certificate::FromPem("-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, "not a certificate in PEM: bad base64 decode"));
  EXPECT_THAT(PrivateKey::FromPem("no key", ""),
              StatusIs(absl::StatusCode::kInvalidArgument, EndsWith(": unsupported")));
}

TEST(LeanProviderTest, EverySuiteOfTls13IsThere) {
  const SslCtxPtr context(SSL_CTX_new(TLS_method()));
  ASSERT_NE(context, nullptr);
  for (const char* suite :
       {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}) {
    EXPECT_EQ(SSL_CTX_set_ciphersuites(context.get(), suite), 1) << suite;
    STACK_OF(SSL_CIPHER)* const offered = SSL_CTX_get_ciphers(context.get());
    bool found = false;
    for (int i = 0; i < sk_SSL_CIPHER_num(offered); ++i) {
      found |= std::string(SSL_CIPHER_get_name(sk_SSL_CIPHER_value(offered, i))) == suite;
    }
    EXPECT_TRUE(found) << suite;
  }
  for (const char* cipher : {"AES-128-GCM", "AES-256-GCM", "ChaCha20-Poly1305"}) {
    EXPECT_TRUE(HasCipher(cipher)) << cipher;
  }
}

// Signatures are made and checked by these numbers.
TEST(LeanProviderTest, WhatIsKeptHasTheNumberThatCertificatesHave) {
  using DigestPtr = std::unique_ptr<EVP_MD, FreeWith<&EVP_MD_free>>;
  const std::pair<const char*, int> digests[] = {{"SHA1", NID_sha1},
                                                 {"SHA2-224", NID_sha224},
                                                 {"SHA2-256", NID_sha256},
                                                 {"SHA2-384", NID_sha384},
                                                 {"SHA2-512", NID_sha512}};
  for (const auto& [name, number] : digests) {
    const DigestPtr digest(EVP_MD_fetch(nullptr, name, nullptr));
    ASSERT_NE(digest, nullptr) << name;
    EXPECT_EQ(EVP_MD_get_type(digest.get()), number) << name;
    EXPECT_NE(EVP_get_digestbynid(number), nullptr) << name;
  }
  const CipherPtr cipher(EVP_CIPHER_fetch(nullptr, "AES-256-CBC", nullptr));
  ASSERT_NE(cipher, nullptr);
  EXPECT_EQ(EVP_CIPHER_get_nid(cipher.get()), NID_aes_256_cbc);
  EXPECT_NE(EVP_get_cipherbynid(NID_aes_256_cbc), nullptr);
}

TEST(LeanProviderTest, AnAuthoritysKeyOpensWithItsPassphrase) {
  const auto key = PrivateKey::Generate();
  ASSERT_OK(key);
  const auto pem = key->ToPem("a passphrase");
  ASSERT_OK(pem);
  EXPECT_OK(PrivateKey::FromPem(*pem, "a passphrase"));
  EXPECT_FALSE(PrivateKey::FromPem(*pem, "another").ok());
}

}  // namespace
}  // namespace hpc::pki
