#include "member/find_coordinator.h"

#include <map>

#include "common/pki/authority.h"
#include "common/pki/signing_request.h"
#include "common/status_matchers.h"

namespace hpc::member {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr char kCluster[] = "0123456789abcdef";
using Shown = absl::StatusOr<std::vector<pki::Certificate>>;

struct Cluster {
  pki::Authority authority = *pki::Authority::Create(kCluster, kNow);
  std::vector<pki::Certificate> shown = {
      *authority.Sign(*pki::SigningRequest::Make(*pki::PrivateKey::Generate()),
                      {kCluster, pki::Role::kCoordinator, "coordinator"}, kNow, absl::Hours(24)),
      authority.certificate()};
};

class FindCoordinatorTest : public ::testing::Test {
 protected:
  absl::StatusOr<FoundCoordinator> Find(std::map<std::string, Shown> network) {
    return FindCoordinator(token_, [&](const Endpoint& address) -> Shown {
      const auto found = network.find(address.ToString());
      return found == network.end() ? absl::DeadlineExceededError("it does not answer")
                                    : found->second;
    });
  }

  const Cluster ours_{};
  const Cluster other_{};
  const pki::JoinToken token_ = {
      .role = pki::Role::kWorker,
      .secret = "0123456789012345",
      .authority_hash = ours_.authority.certificate().PublicKeyHash(),
      .addresses = {*ParseEndpoint("10.0.0.1:7077"), *ParseEndpoint("vpn.example:7")}};
};

TEST_F(FindCoordinatorTest, TakesTheFirstAddressWhereItIs) {
  const auto found = Find({{"10.0.0.1:7077", ours_.shown}, {"vpn.example:7", ours_.shown}});
  ASSERT_OK(found);
  EXPECT_EQ(found->address.ToString(), "10.0.0.1:7077");
  EXPECT_EQ(found->authority.ToPem(), ours_.authority.certificate().ToPem());
  EXPECT_TRUE(found->passed_over.empty());
}

TEST_F(FindCoordinatorTest, PassesOverAStrangerAndSaysSo) {
  const auto found = Find({{"10.0.0.1:7077", other_.shown}, {"vpn.example:7", ours_.shown}});
  ASSERT_OK(found);
  EXPECT_EQ(found->address.ToString(), "vpn.example:7");
  EXPECT_THAT(found->passed_over,
              ElementsAre(AllOf(HasSubstr("10.0.0.1:7077"), HasSubstr("intercepting"))));
}

TEST_F(FindCoordinatorTest, AStrangerAloneIsRefusedAndNamed) {
  EXPECT_THAT(
      Find({{"10.0.0.1:7077", other_.shown}}),
      StatusIs(absl::StatusCode::kUnauthenticated,
               AllOf(HasSubstr("10.0.0.1:7077: it shows the certificate of another"),
                     HasSubstr("intercepting"), HasSubstr("vpn.example:7: it does not answer"))));
}

TEST_F(FindCoordinatorTest, NobodyListsEveryAddressWithItsReason) {
  EXPECT_THAT(Find({{"10.0.0.1:7077", absl::UnavailableError("Connection refused")}}),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("10.0.0.1:7077: Connection refused"),
                             HasSubstr("vpn.example:7: it does not answer"))));
}

TEST(WhyNoTlsTest, PutsItIntoWords) {
  const Cluster ours, other;
  const Endpoint address = *ParseEndpoint("10.0.0.1");
  const std::string trusted = ours.authority.certificate().ToPem();
  const auto why = [&](const Shown& shown, absl::Time now) {
    return WhyNoTls(address, trusted, now, [&](const Endpoint&) { return shown; });
  };
  EXPECT_OK(why(ours.shown, kNow));
  EXPECT_THAT(why(absl::UnavailableError("Connection refused"), kNow),
              StatusIs(absl::StatusCode::kUnavailable, "Connection refused"));
  EXPECT_THAT(why(other.shown, kNow),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("not signed by this cluster's authority"),
                             HasSubstr("intercepting"))));
  EXPECT_THAT(why(ours.shown, kNow + absl::Hours(25)),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("expired at"), HasSubstr("clock of this machine"))));
  EXPECT_THAT(why(ours.shown, kNow - absl::Hours(25)),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not valid before")));
}

}  // namespace
}  // namespace hpc::member
