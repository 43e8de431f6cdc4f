#include "worker/coordinator_way.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/pki/authority.h"
#include "common/pki/private_key.h"
#include "common/status_matchers.h"

namespace hpc::worker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr char kCluster[] = "0123456789abcdef";

pki::Membership MemberAs(pki::Role role, const std::string& name) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  const pki::Authority authority = *pki::Authority::Create(kCluster, now);
  const pki::PrivateKey key = *pki::PrivateKey::Generate();
  return {.key_pem = *key.ToPem(""),
          .certificate_pem = authority
                                 .Sign(*pki::SigningRequest::Make(key), {kCluster, role, name}, now,
                                       absl::Hours(1))
                                 ->ToPem(),
          .authorities_pem = authority.certificate().ToPem(),
          .addresses = {*ParseEndpoint("10.0.0.1:7077"), *ParseEndpoint("vpn.example:7")}};
}

CommandLine Named(const std::string& coordinator, const std::string& name = "") {
  CommandLine command;
  if (!coordinator.empty()) command.coordinator = *ParseEndpoint(coordinator);
  command.name = name;
  return command;
}

TEST(WayTest, AMemberGoesByItsCertificate) {
  const pki::Membership pc1 = MemberAs(pki::Role::kWorker, "pc1");
  const auto way = ChooseWay(Named(""), pc1);
  ASSERT_OK(way);
  EXPECT_EQ(way->node, "pc1");
  EXPECT_THAT(way->addresses, SizeIs(2));
  EXPECT_EQ(way->security.certificate, pc1.certificate_pem);
  EXPECT_OK(ChooseWay(Named("", "pc1"), pc1));
}

TEST(WayTest, ANamedCoordinatorIsTriedBeforeThoseThatAreRemembered) {
  const auto way = ChooseWay(Named("10.0.0.9:1"), MemberAs(pki::Role::kWorker, "pc1"));
  ASSERT_OK(way);
  ASSERT_THAT(way->addresses, SizeIs(3));
  EXPECT_EQ(way->addresses[0].ToString(), "10.0.0.9:1");
  EXPECT_EQ(way->addresses[1].ToString(), "10.0.0.1:7077");
  const auto known = ChooseWay(Named("vpn.example:7"), MemberAs(pki::Role::kWorker, "pc1"));
  ASSERT_OK(known);
  ASSERT_THAT(known->addresses, SizeIs(2));
  EXPECT_EQ(known->addresses[0].ToString(), "vpn.example:7");
  EXPECT_TRUE(way->security.is_tls());
}

TEST(WayTest, AUnixSocketNeedsNoMembership) {
  const auto way = ChooseWay(Named("unix:/x", "pc7"), absl::NotFoundError("none"));
  ASSERT_OK(way);
  EXPECT_EQ(way->node, "pc7");
  EXPECT_FALSE(way->security.is_tls());
  EXPECT_EQ(ChooseWay(Named("unix:/x"), absl::NotFoundError("none"))->node, HostName());
}

TEST(WayTest, PlainTextIsSpokenOnlyWhenAskedFor) {
  CommandLine command = Named("127.0.0.1:1", "pc1");
  EXPECT_TRUE(ChooseWay(command, MemberAs(pki::Role::kWorker, "pc1"))->security.is_tls());
  command.insecure = true;
  EXPECT_FALSE(ChooseWay(command, absl::NotFoundError("none"))->security.is_tls());
}

TEST(WayTest, WhoIsNoMemberIsToldHowToBecomeOne) {
  for (const char* coordinator : {"", "10.0.0.1:7077"}) {
    EXPECT_THAT(ChooseWay(Named(coordinator), absl::NotFoundError("none")),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr("hpcctl token create"), HasSubstr("hpc-worker join"))));
  }
  EXPECT_THAT(ChooseWay(Named(""), absl::InvalidArgumentError("identity.pem: not a key")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("identity.pem")));
}

TEST(WayTest, RefusesToGoAsSomebodyElse) {
  EXPECT_THAT(ChooseWay(Named("", "pc2"), MemberAs(pki::Role::kWorker, "pc1")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("a member as pc1"),
                             HasSubstr("hpc-worker join TOKEN --name pc2 --replace"))));
  EXPECT_THAT(ChooseWay(Named(""), MemberAs(pki::Role::kUser, "anna")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("user anna")));
}

TEST(WayTest, ANameMustBeOne) {
  EXPECT_THAT(
      ChooseWay(Named("unix:/x", "a b"), absl::NotFoundError("none")),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("choose another with --name")));
}

}  // namespace
}  // namespace hpc::worker
