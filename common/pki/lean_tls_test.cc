#include "common/pki/lean_tls.h"

#include <gtest/gtest.h>

#include <memory>

#include "common/pki/authority.h"
#include "common/pki/openssl.h"
#include "common/pki/ssl.h"

namespace hpc::pki {
namespace {

constexpr char kCluster[] = "0123456789abcdef";

int TrustAnybody(int /*ok*/, X509_STORE_CTX*) { return 1; }

// A client and a server that know the authority of both, and speak through memory.
class LeanTlsTest : public ::testing::Test {
 protected:
  SslCtxPtr Context(const SSL_METHOD* method, Role role) {
    SslCtxPtr context(SSL_CTX_new(method));
    SSL_CTX_use_certificate(context.get(), Issue(role).get());
    SSL_CTX_use_PrivateKey(context.get(), key_.get());
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), authority_.certificate().get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, &TrustAnybody);
    return context;
  }

  // With these groups, where they are given, in the place of what each has.
  void ShakeHands(const char* of_server = nullptr, const char* of_client = nullptr) {
    server_.reset(SSL_new(server_context_.get()));
    client_.reset(SSL_new(client_context_.get()));
    if (of_server != nullptr) SSL_set1_groups_list(server_.get(), of_server);
    if (of_client != nullptr) SSL_set1_groups_list(client_.get(), of_client);
    BIO *at_server = nullptr, *at_client = nullptr;
    BIO_new_bio_pair(&at_server, 1 << 16, &at_client, 1 << 16);
    SSL_set_bio(server_.get(), at_server, at_server);
    SSL_set_bio(client_.get(), at_client, at_client);
    SSL_set_accept_state(server_.get());
    SSL_set_connect_state(client_.get());
    char byte;
    for (int turn = 0; turn < 4; ++turn) {
      SSL_do_handshake(client_.get());
      SSL_do_handshake(server_.get());
    }
    ASSERT_TRUE(SSL_is_init_finished(server_.get()));
    SSL_read(client_.get(), &byte, 1);  // takes tickets
  }

  // To a client with the server's own certificate, to a server without the client's.
  static int Shown(SSL* to) { return sk_X509_num(SSL_get_peer_cert_chain(to)); }
  bool Tickets() const { return SSL_SESSION_has_ticket(SSL_get_session(client_.get())) == 1; }

  int Group() const { return static_cast<int>(SSL_get_negotiated_group(client_.get())); }

  SslPtr server_, client_;

 private:
  Certificate Issue(Role role) const {
    return *authority_.Sign(*SigningRequest::Make(key_), {kCluster, role, "one"}, absl::Now(),
                            absl::Hours(1));
  }

  Authority authority_ = *Authority::Create(kCluster, absl::Now());
  PrivateKey key_ = *PrivateKey::Generate();
  SslCtxPtr server_context_ = Context(TLS_server_method(), Role::kCoordinator);
  SslCtxPtr client_context_ = Context(TLS_client_method(), Role::kUser);
};

TEST_F(LeanTlsTest, NeitherTicketsNorTheAuthorityAreSent) {
  ShakeHands();
  EXPECT_TRUE(Tickets());
  EXPECT_EQ(Shown(client_.get()), 2);
  EXPECT_EQ(Shown(server_.get()), 1);
  KeepTlsLean();
  KeepTlsLean();
  ShakeHands();
  EXPECT_FALSE(Tickets());
  EXPECT_EQ(Shown(client_.get()), 1);
  EXPECT_LE(Shown(server_.get()), 0);
}

TEST_F(LeanTlsTest, KeysAreExchangedByX25519AndWithWhoKnowsOnlyP256ByThat) {
  KeepTlsLean();
  ShakeHands();
  EXPECT_EQ(Group(), NID_X25519);
  ShakeHands("P-256", nullptr);
  EXPECT_EQ(Group(), NID_X9_62_prime256v1);
  ShakeHands(nullptr, "P-256");
  EXPECT_EQ(Group(), NID_X9_62_prime256v1);
}

TEST_F(LeanTlsTest, TheSuiteWithTheDigestThatProcessorsKnowIsTaken) {
  KeepTlsLean();
  ShakeHands();
  EXPECT_STREQ(SSL_get_cipher_name(client_.get()), "TLS_AES_128_GCM_SHA256");
}

}  // namespace
}  // namespace hpc::pki
