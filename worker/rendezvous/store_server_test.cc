#include "worker/rendezvous/store_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "worker/rendezvous/ip_address.h"
#include "worker/rendezvous/keepalive.h"
#include "worker/rendezvous/testing/test_bytes.h"

namespace hpc::worker {
namespace {

using hpc::testing::StatusIs;
using namespace store::testing;  // NOLINT: the requests' names
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A blocking client. The loop runs in the same thread.
class Client {
 public:
  explicit Client(const StoreServer& server, const std::string& to = "127.0.0.1",
                  const std::string& from = "") {
    store::SocketAddress address = store::ParseIp(to, server.port()).value();
    fd_ = UniqueFd(socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!from.empty()) {
      store::SocketAddress own = store::ParseIp(from, 0).value();
      EXPECT_EQ(bind(fd_.get(), own.get(), own.size), 0);
    }
    connected_ = connect(fd_.get(), address.get(), address.size) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }
  void Send(absl::string_view bytes) {
    EXPECT_EQ(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // What has arrived, without waiting.
  std::string Received() {
    std::string all;
    char bytes[4096];
    ssize_t n = 0;
    while ((n = recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
      all.append(bytes, static_cast<size_t>(n));
    }
    closed_ = closed_ || n == 0 || (errno != EAGAIN && errno != EINTR);
    return all;
  }
  bool closed() {
    Received();
    return closed_;
  }
  void Close() { fd_.Reset(); }

 private:
  UniqueFd fd_;
  bool connected_ = false;
  bool closed_ = false;
};

class StoreServerTest : public ::testing::Test {
 protected:
  std::unique_ptr<StoreServer> Listen(StoreServerOptions options = {}) {
    if (options.address.empty()) options.address = "127.0.0.1";
    absl::StatusOr<std::unique_ptr<StoreServer>> server = StoreServer::Listen(&loop_, options);
    EXPECT_OK(server);
    return std::move(server).value();
  }
  // Runs rounds of the loop until there is nothing to do.
  void Settle() {
    for (int i = 0; i < 20; ++i) loop_.RunOnce(absl::ZeroDuration());
  }
  // Runs rounds of the loop until `bytes` have come.
  std::string Receive(Client& client, size_t bytes) {
    std::string all;
    for (int i = 0; i < 100'000 && all.size() < bytes && !client.closed(); ++i) {
      loop_.RunOnce(absl::ZeroDuration());
      all += client.Received();
    }
    return all;
  }
  std::string Ask(Client& client, absl::string_view bytes) {
    client.Send(bytes);
    Settle();
    return client.Received();
  }

  FakeClock clock_;
  EventLoop loop_{&clock_};
};

TEST_F(StoreServerTest, ServesClients) {
  const auto server = Listen();
  Client ann(*server);
  Client bob(*server);
  EXPECT_EQ(Ask(ann, Hello() + Add("n", 1)), I64(1));
  EXPECT_EQ(Ask(bob, Hello() + Add("n", 1)), I64(2));
}

TEST_F(StoreServerTest, ServesOverIpv6) {
  const auto server = Listen({.address = "::1"});
  Client client(*server, "::1");
  if (!client.connected()) GTEST_SKIP() << "no IPv6 on this machine";
  EXPECT_EQ(Ask(client, Hello() + Ping(7)), U32(7));
  EXPECT_THAT(server->Status().arrivals, ElementsAre(StoreStatus::Arrival{"::1", 7}));
}

TEST_F(StoreServerTest, WakesAClientThatWaits) {
  const auto server = Listen();
  Client ann(*server);
  Client bob(*server);
  EXPECT_EQ(Ask(ann, Hello() + Wait("k")), "");
  bob.Send(Hello() + Set("k", "v"));
  Settle();
  EXPECT_EQ(ann.Received(), U8(0));
}

TEST_F(StoreServerTest, CarriesLargeValuesBothWays) {
  const auto server = Listen();
  Client client(*server);
  const std::string value(8 << 20, 'v');
  const std::string request = Hello() + Set("k", value) + Get("k");
  size_t sent = 0;
  std::string received;
  while (received.size() < value.size() + 8 && !client.closed()) {
    const ssize_t n = send(client.fd(), request.data() + sent, request.size() - sent,
                           MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<size_t>(n);
    loop_.RunOnce(absl::ZeroDuration());
    received += client.Received();
  }
  EXPECT_EQ(received, Text(value));
}

TEST_F(StoreServerTest, StopsReadingFromAClientThatDoesNotTakeItsAnswers) {
  const auto server = Listen();
  Client client(*server);
  client.Send(Hello() + Set("k", std::string(100'000, 'v')));
  Settle();
  // Far more requests than the buffers of both sides hold; the answers would be 100 GB.
  std::string gets;
  for (int i = 0; i < 1000; ++i) gets += Get("k");
  size_t sent = 0;
  for (int i = 0; i < 10'000; ++i) {
    const ssize_t n = send(client.fd(), gets.data(), gets.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<size_t>(n);
    loop_.RunOnce(absl::ZeroDuration());
    if (n < 0) break;
  }
  EXPECT_LT(sent, size_t{64} << 20);
  // Another client is still served.
  Client other(*server);
  EXPECT_EQ(Ask(other, Hello() + GetNumKeys()), I64(1));
  // The first client is served on as soon as it takes its answers.
  EXPECT_GT(Receive(client, 20'000'000).size(), 19'999'999u);
}

TEST_F(StoreServerTest, ClosesAndCountsWhoBreaksTheProtocol) {
  const auto server = Listen();
  Client client(*server);
  Client other(*server);
  client.Send(Hello() + U8(99));
  Settle();
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(server->Status().refused, 1);
  EXPECT_EQ(server->Status().connections, 1);
  EXPECT_FALSE(other.closed());
}

TEST_F(StoreServerTest, AdmitsOnlyTheAllowedAddresses) {
  const auto server = Listen({.allowed_addresses = {"127.0.0.2", "::ffff:127.0.0.3"}});
  Client stranger(*server);
  Client node2(*server, "127.0.0.1", "127.0.0.2");
  Client node3(*server, "127.0.0.1", "127.0.0.3");
  EXPECT_EQ(Ask(node2, Hello() + Ping(7)), U32(7));
  EXPECT_EQ(Ask(node3, Hello() + Ping(7)), U32(7));
  EXPECT_TRUE(stranger.closed());
  const StoreStatus status = server->Status();
  EXPECT_EQ(status.refused, 1);
  EXPECT_EQ(status.connections, 2);
  EXPECT_THAT(status.arrivals, ElementsAre(StoreStatus::Arrival{"127.0.0.2", 7},
                                           StoreStatus::Arrival{"127.0.0.3", 7}));
}

TEST_F(StoreServerTest, AdmitsOnlyTheAccountsProgramsOfThisPc) {
  const auto ours = Listen({.account = geteuid()});
  Client mine(*ours);
  EXPECT_EQ(Ask(mine, Hello() + Add("n", 1)), I64(1));

  const auto theirs = Listen({.account = geteuid() + 1});
  Client other(*theirs);
  EXPECT_EQ(Ask(other, Hello() + Add("n", 1)), "");
  EXPECT_TRUE(other.closed());
  EXPECT_EQ(theirs->Status().refused, 1);
  EXPECT_EQ(theirs->Status().refused_account, geteuid());
}

TEST_F(StoreServerTest, HearsNothingFromWhoHasLeftBeforeItWasSeen) {
  const auto server = Listen({.account = geteuid()});
  Client gone(*server);
  gone.Send(Hello() + Set("n", "forged"));
  const linger reset{.l_onoff = 1, .l_linger = 0};
  ASSERT_EQ(setsockopt(gone.fd(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
  gone.Close();
  Settle();
  EXPECT_EQ(server->Status().refused, 1);
}

TEST_F(StoreServerTest, AdmitsNoMoreThanItsMaximum) {
  const auto server = Listen({.max_connections = 1});
  Client first(*server);
  Settle();
  Client second(*server);
  Settle();
  EXPECT_TRUE(second.closed());
  EXPECT_FALSE(first.closed());
  first.Close();
  Settle();
  Client third(*server);
  EXPECT_EQ(Ask(third, Hello() + Ping(7)), U32(7));
}

TEST_F(StoreServerTest, ForgetsAClientThatLeft) {
  const auto server = Listen();
  Client client(*server);
  client.Send(Hello() + Wait("k"));
  Settle();
  EXPECT_EQ(server->Status().waiting, 1);
  client.Close();
  Settle();
  EXPECT_EQ(server->Status().waiting, 0);
  EXPECT_EQ(server->Status().connections, 0);
}

TEST_F(StoreServerTest, WaitsForDescriptorsWithoutSpinning) {
  const auto server = Listen();
  Client client(*server);
  Client late(*server);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(late.fd()) + 1;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  Settle();
  EXPECT_EQ(server->Status().connections, 0);
  // Nothing is ready, so the loop sleeps for as long as it is told to instead of returning at once.
  const absl::Time start = absl::Now();
  loop_.RunOnce(absl::Milliseconds(20));
  EXPECT_GE(absl::Now() - start, absl::Milliseconds(15));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(Ask(client, Hello() + Ping(7)), U32(7));
  EXPECT_EQ(Ask(late, Hello() + Ping(8)), U32(8));
}

TEST_F(StoreServerTest, ReportsChangesTogether) {
  const auto server = Listen();
  std::vector<StoreStatus> reports;
  server->OnChange([&] { reports.push_back(server->Status()); });
  Client ann(*server);
  Client bob(*server);
  ann.Send(Hello() + Ping(1) + Wait("k"));
  bob.Send(Hello() + Ping(2) + Wait("k"));
  Settle();
  EXPECT_EQ(reports.size(), 0u);
  clock_.Advance(absl::Milliseconds(100));
  Settle();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].arrivals.size(), 2u);
  EXPECT_EQ(reports[0].blocked_key, "k");
  EXPECT_EQ(reports[0].waiting, 2);
  // Nothing is new, so nothing is reported.
  clock_.Advance(absl::Seconds(1));
  Settle();
  EXPECT_EQ(reports.size(), 1u);
}

TEST_F(StoreServerTest, DoesNotReportAWaitThatEndsAtOnce) {
  const auto server = Listen();
  int reports = 0;
  server->OnChange([&] { ++reports; });
  Client client(*server);
  client.Send(Hello() + Wait("k") + Set("k", ""));
  Settle();
  clock_.Advance(absl::Milliseconds(100));
  Settle();
  EXPECT_EQ(reports, 0);
}

TEST_F(StoreServerTest, ReportsAWaiterThatLeft) {
  const auto server = Listen();
  Client client(*server);
  client.Send(Hello() + Wait("k"));
  Settle();
  clock_.Advance(absl::Milliseconds(100));
  Settle();
  std::vector<int> waiting;
  server->OnChange([&] { waiting.push_back(server->Status().waiting); });
  client.Close();
  Settle();
  clock_.Advance(absl::Milliseconds(100));
  Settle();
  EXPECT_THAT(waiting, ElementsAre(0));
}

TEST_F(StoreServerTest, ClosesEverythingWithItself) {
  auto server = Listen();
  Client client(*server);
  client.Send(Hello() + Wait("k"));
  Settle();
  const int port = server->port();
  server.reset();
  EXPECT_TRUE(client.closed());
  // The port is free again at once, although its connection is in TIME_WAIT.
  EXPECT_EQ(Listen({.port = port})->port(), port);
}

TEST_F(StoreServerTest, CanBeClosedByItsOwnReport) {
  auto server = Listen();
  server->OnChange([&] { server.reset(); });
  Client client(*server);
  client.Send(Hello() + Ping(1));
  Settle();
  clock_.Advance(absl::Milliseconds(100));
  Settle();
  EXPECT_EQ(server, nullptr);
}

TEST_F(StoreServerTest, RefusesAPortInUse) {
  const auto server = Listen();
  EXPECT_THAT(StoreServer::Listen(&loop_, {.address = "127.0.0.1", .port = server->port()}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("127.0.0.1 port " + std::to_string(server->port())),
                             HasSubstr("Address already in use"))));
}

TEST_F(StoreServerTest, RefusesAddressesItCannotServe) {
  EXPECT_THAT(StoreServer::Listen(&loop_, {.address = "192.0.2.1"}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("192.0.2.1")));
  for (const char* wildcard : {"0.0.0.0", "::", "::ffff:0.0.0.0"}) {
    EXPECT_THAT(StoreServer::Listen(&loop_, {.address = wildcard}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one interface")));
  }
  EXPECT_THAT(StoreServer::Listen(&loop_, {.address = "localhost"}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"localhost\"")));
  EXPECT_THAT(StoreServer::Listen(&loop_, {.address = "127.0.0.1", .port = 65536}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("65536")));
  EXPECT_THAT(StoreServer::Listen(&loop_, {.address = "127.0.0.1", .allowed_addresses = {"pc1"}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"pc1\"")));
}

TEST_F(StoreServerTest, KeepalivesAreAnsweredBesideTheStore) {
  const auto server = Listen();
  std::vector<std::string> asked;
  server->AnswerKeepalives([&](const std::string& frame) {
    asked.push_back(frame);
    return std::string("answer");
  });
  const std::string frame = "K" + std::string(store::kKeepaliveBytes - 1, 'x');
  Client node(*server), rank(*server);
  rank.Send(Hello() + Ping(1));
  node.Send(frame.substr(0, 10));
  Settle();
  node.Send(frame.substr(10) + frame);
  Settle();
  EXPECT_THAT(asked, ElementsAre(frame, frame));
  EXPECT_EQ(node.Received(), "answeranswer");
  EXPECT_EQ(rank.Received().size(), 4u) << "the PING's";
}

TEST_F(StoreServerTest, WhoIsNotAnsweredIsSentAway) {
  const auto server = Listen();
  const std::string frame = "K" + std::string(store::kKeepaliveBytes - 1, 'x');
  Client early(*server);
  early.Send(frame);
  Settle();
  EXPECT_TRUE(early.closed());
  server->AnswerKeepalives([](const std::string&) { return std::string(); });
  Client node(*server);
  node.Send(frame);
  Settle();
  EXPECT_TRUE(node.closed());
}

TEST_F(StoreServerTest, AStoreThatWasLostAnswersKeepalivesOnly) {
  const auto server = Listen({.only_keepalives = true});
  server->AnswerKeepalives([](const std::string&) { return std::string("answer"); });
  Client node(*server), rank(*server);
  rank.Send(Hello() + Ping(1));
  node.Send("K" + std::string(store::kKeepaliveBytes - 1, 'x'));
  Settle();
  EXPECT_TRUE(rank.closed());
  EXPECT_EQ(node.Received(), "answer");
}

}  // namespace
}  // namespace hpc::worker
