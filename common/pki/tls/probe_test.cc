#include "common/pki/tls/probe.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "common/pki/authority.h"
#include "common/pki/openssl.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr char kCluster[] = "0123456789abcdef";

struct Server {
  Authority authority = *Authority::Create(kCluster, kNow);
  PrivateKey key = *PrivateKey::Generate();
  Certificate certificate = Issue(Role::kCoordinator);

  Certificate Issue(Role role) const {
    return *authority.Sign(*SigningRequest::Make(key), {kCluster, role, "master"}, kNow,
                           absl::Hours(1));
  }
};

// Handles one connection on a port of its own.
class OneConnection {
 public:
  explicit OneConnection(std::function<void(int fd)> handle)
      : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(listen(listener_.get(), 1), 0);
    getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    endpoint_ = {
        .is_unix = false, .path = "", .host = "127.0.0.1", .port = ntohs(address.sin_port)};
    thread_ = std::thread([this, handle = std::move(handle)] {
      const UniqueFd fd(accept(listener_.get(), nullptr, nullptr));
      handle(fd.get());
    });
  }
  ~OneConnection() { thread_.join(); }
  const Endpoint& endpoint() const { return endpoint_; }

 private:
  UniqueFd listener_;
  Endpoint endpoint_;
  std::thread thread_;
};

void ServeTls(const Server& server, int max_version, int fd) {
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_max_proto_version(context, max_version);
  SSL_CTX_use_certificate(context, server.certificate.get());
  SSL_CTX_add1_chain_cert(context, server.authority.certificate().get());
  SSL_CTX_use_PrivateKey(context, server.key.get());
  SSL* const ssl = SSL_new(context);
  SSL_set_fd(ssl, fd);
  signal(SIGPIPE, SIG_IGN);  // the client hangs up once it has seen the certificates
  SSL_accept(ssl);
  SSL_free(ssl);
  SSL_CTX_free(context);
}

TEST(ProbeTest, FetchesWhatAServerShowsAndFindsTheAuthorityThatWasMeant) {
  const Server server;
  const OneConnection connection([&](int fd) { ServeTls(server, TLS1_3_VERSION, fd); });
  const auto shown = FetchCertificates(connection.endpoint(), absl::Seconds(10));
  ASSERT_OK(shown);
  ASSERT_EQ(shown->size(), 2);
  const auto found = FindAuthority(*shown, server.authority.certificate().PublicKeyHash());
  ASSERT_OK(found);
  EXPECT_EQ(found->ToPem(), server.authority.certificate().ToPem());
}

TEST(ProbeTest, RefusesAServerOfTls12) {
  const Server server;
  const OneConnection connection([&](int fd) { ServeTls(server, TLS1_2_VERSION, fd); });
  EXPECT_THAT(FetchCertificates(connection.endpoint(), absl::Seconds(10)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("TLS 1.3")));
}

TEST(ProbeTest, SaysThatAServerSpeaksSomethingElse) {
  const OneConnection connection([](int fd) {
    const char text[] = "SSH-2.0-OpenSSH_9.2\r\n";
    EXPECT_GT(write(fd, text, sizeof(text) - 1), 0);
    char taken[4096];
    EXPECT_GT(read(fd, taken, sizeof(taken)), 0);
  });
  EXPECT_THAT(FetchCertificates(connection.endpoint(), absl::Seconds(10)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("TLS 1.3")));
}

TEST(ProbeTest, GivesUpOnAServerThatSaysNothing) {
  const OneConnection connection([](int fd) {
    char taken[4096];
    while (read(fd, taken, sizeof(taken)) > 0) {
    }
  });
  EXPECT_THAT(FetchCertificates(connection.endpoint(), absl::Milliseconds(20)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("does not answer")));
}

TEST(ProbeTest, SaysThatNobodyListens) {
  Endpoint nobody;
  {
    const OneConnection gone([](int) {});
    nobody = gone.endpoint();
    FetchCertificates(nobody, absl::Seconds(10)).IgnoreError();
  }
  EXPECT_THAT(FetchCertificates(nobody, absl::Seconds(10)),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("refused")));
}

TEST(FindAuthorityTest, TellsARotatedAuthorityFromItsBridge) {
  const Server server;
  const absl::Time now = absl::Now();
  const Certificate bridge =
      *Authority::Create("0123456789abcdef", now)->CrossSign(server.authority, now);
  const auto found = FindAuthority({server.certificate, bridge, server.authority.certificate()},
                                   server.authority.certificate().PublicKeyHash());
  ASSERT_OK(found);
  EXPECT_EQ(found->ToPem(), server.authority.certificate().ToPem());
}

TEST(FindAuthorityTest, RefusesAnotherAuthority) {
  const Server server;
  const Server other;
  EXPECT_THAT(FindAuthority({other.certificate, other.authority.certificate()},
                            server.authority.certificate().PublicKeyHash()),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("another authority")));
}

TEST(FindAuthorityTest, RefusesTheRightAuthorityShownByAStranger) {
  const Server server;
  const Server stranger;
  EXPECT_THAT(FindAuthority({stranger.certificate, server.authority.certificate()},
                            server.authority.certificate().PublicKeyHash()),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("authority")));
}

TEST(FindAuthorityTest, RefusesAMemberThatPlaysTheCoordinator) {
  const Server server;
  EXPECT_THAT(
      FindAuthority({server.Issue(Role::kWorker), server.authority.certificate()},
                    server.authority.certificate().PublicKeyHash()),
      StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not made for a coordinator")));
}

}  // namespace
}  // namespace hpc::pki
