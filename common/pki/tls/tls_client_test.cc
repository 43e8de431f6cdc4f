#include "common/pki/tls/tls_client.h"

#include <gtest/gtest.h>

#include <memory>

#include "common/pki/authority.h"
#include "common/pki/openssl.h"
#include "common/pki/tls/ssl.h"
#include "common/status_matchers.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;

constexpr char kCluster[] = "0123456789abcdef";

int TrustAnybody(int /*ok*/, X509_STORE_CTX*) { return 1; }

// A server that asks for the client's certificate, and speaks with it through memory.
class TlsClientTest : public ::testing::Test {
 protected:
  TlsClientTest() {
    SSL_CTX* const context = context_.get();
    SSL_CTX_use_certificate(context, Issue(Role::kCoordinator).get());
    SSL_CTX_use_PrivateKey(context, key_.get());
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, &TrustAnybody);
    server_.reset(SSL_new(context));
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(in_, -1);
    SSL_set_bio(server_.get(), in_, out_);
    SSL_set_accept_state(server_.get());
  }

  // Returns how often the client had spoken when the handshake was done; 0: it never was.
  int ShakeHands(const std::string& trusted) {
    client_ = *TlsClient::Make(trusted, *key_.ToPem(""), Issue(Role::kUser).ToPem(),
                               std::string(kCoordinatorHost));
    bool done = false;
    for (int turn = 1; turn < 5; ++turn) {
      const absl::StatusOr<bool> client = client_->Handshake();
      if (!client.ok()) {
        status_ = client.status();
        return 0;
      }
      const std::string said = client_->TakeOutput();
      BIO_write(in_, said.data(), static_cast<int>(said.size()));
      if (done && *client) return turn;
      done = SSL_do_handshake(server_.get()) == 1;
      if (done && *client) return turn;
      client_->Receive(Written(out_));
      BIO_reset(out_);
    }
    return 0;
  }

  Certificate Issue(Role role) const {
    return *authority_.Sign(*SigningRequest::Make(key_), {kCluster, role, "one"}, absl::Now(),
                            absl::Hours(1));
  }
  std::string Trusted() const { return authority_.certificate().ToPem(); }

  const Authority authority_ = *Authority::Create(kCluster, absl::Now());
  const PrivateKey key_ = *PrivateKey::Generate();
  const SslCtxPtr context_{SSL_CTX_new(TLS_server_method())};
  SslPtr server_;
  BIO *in_ = nullptr, *out_ = nullptr;  // owned by server_
  std::unique_ptr<TlsClient> client_;
  absl::Status status_;
};

TEST_F(TlsClientTest, OnlyItsOwnCertificateIsShown) {
  ASSERT_GT(ShakeHands(Trusted()), 0);
  EXPECT_NE(SSL_get0_peer_certificate(server_.get()), nullptr);
  EXPECT_LE(sk_X509_num(SSL_get_peer_cert_chain(server_.get())), 0);
}

TEST_F(TlsClientTest, AServerWithP256AloneAsGrpcsNeedsNoSecondWord) {
  SSL_set1_groups_list(server_.get(), "P-256");
  EXPECT_EQ(ShakeHands(Trusted()), 2);
  EXPECT_EQ(SSL_get_negotiated_group(server_.get()), NID_X9_62_prime256v1);
}

TEST_F(TlsClientTest, AServerWithX25519AloneIsSpokenToByThat) {
  SSL_set1_groups_list(server_.get(), "X25519");
  EXPECT_EQ(ShakeHands(Trusted()), 3);
  EXPECT_EQ(SSL_get_negotiated_group(server_.get()), NID_X25519);
}

TEST_F(TlsClientTest, TheSuiteWithTheDigestThatProcessorsKnowIsTaken) {
  ASSERT_GT(ShakeHands(Trusted()), 0);
  EXPECT_STREQ(SSL_get_cipher_name(server_.get()), "TLS_AES_128_GCM_SHA256");
}

TEST_F(TlsClientTest, AnotherAuthoritysServerIsRefused) {
  const Authority another = *Authority::Create(kCluster, absl::Now());
  EXPECT_EQ(ShakeHands(another.certificate().ToPem()), 0);
  EXPECT_THAT(status_, StatusIs(absl::StatusCode::kUnauthenticated, _));
}

}  // namespace
}  // namespace hpc::pki
