#include "member/join.h"

#include "common/files.h"
#include "common/status_matchers.h"
#include "member/admission.h"
#include "member/channel.h"
#include "member/testing.h"

namespace hpc::member {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class JoinTest : public ::testing::Test {
 protected:
  JoinTest() { RemoveTree(folder_).IgnoreError(); }

  absl::StatusOr<Joined> JoinNow(const pki::JoinToken& token, const std::string& name = "pc1") {
    return Join(token, name, folder_, /*replace=*/false, absl::Now());
  }
  bool HasMembership() const { return !absl::IsNotFound(pki::LoadMembership(folder_).status()); }

  const std::string folder_ = ::testing::TempDir() + "join/identity";
};

TEST_F(JoinTest, MakesAMember) {
  TestCoordinator coordinator;
  pki::JoinToken token = coordinator.Token(pki::Role::kWorker);
  token.addresses.insert(token.addresses.begin(), *ParseEndpoint("127.0.0.1:1"));
  const auto joined = JoinNow(token);
  ASSERT_OK(joined);
  EXPECT_EQ(joined->holder.identity.ToString(), "worker pc1");
  EXPECT_EQ(joined->coordinator.ToString(), coordinator.address().ToString());
  EXPECT_THAT(joined->passed_over, SizeIs(1));
  ASSERT_THAT(coordinator.joins(), SizeIs(1));
  EXPECT_EQ(coordinator.joins()[0].secret(), token.secret);
  EXPECT_EQ(coordinator.joins()[0].role(), "worker");

  const auto membership = pki::LoadMembership(folder_);
  ASSERT_OK(membership);
  ASSERT_THAT(membership->addresses, SizeIs(2));
  EXPECT_EQ(membership->addresses[0].ToString(), coordinator.address().ToString());
}

TEST_F(JoinTest, TakesThePlaceOfItsOwnMembershipIfTheCoordinatorLetsIt) {
  TestCoordinator coordinator;
  const pki::Membership old = coordinator.Admit(pki::Role::kWorker, "pc1");
  ASSERT_OK(pki::SaveMembership(folder_, old));
  coordinator.refusal = grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "there is a pc1 already");
  EXPECT_THAT(JoinNow(coordinator.Token(pki::Role::kWorker)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("hpcctl token create --role worker --name pc1")));
  EXPECT_EQ(pki::LoadMembership(folder_)->key_pem, old.key_pem);
  coordinator.refusal = grpc::Status::OK;
  EXPECT_OK(JoinNow(coordinator.Token(pki::Role::kWorker)));
  EXPECT_NE(pki::LoadMembership(folder_)->key_pem, old.key_pem);
}

TEST_F(JoinTest, TellsTheSecretToNobodyElse) {
  TestCoordinator coordinator, stranger;
  pki::JoinToken token = coordinator.Token(pki::Role::kWorker);
  token.addresses = {stranger.address()};
  EXPECT_THAT(JoinNow(token),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr(stranger.address().ToString()), HasSubstr("intercepting"))));
  EXPECT_THAT(stranger.joins(), SizeIs(0));
  EXPECT_FALSE(HasMembership());
}

TEST_F(JoinTest, ShowsARefusalInTheCoordinatorsWords) {
  TestCoordinator coordinator;
  coordinator.refusal = grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "there is a pc1 already");
  EXPECT_THAT(JoinNow(coordinator.Token(pki::Role::kWorker)),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr(coordinator.address().ToString()),
                             HasSubstr("did not let pc1 in: there is a pc1 already"))));
  EXPECT_FALSE(HasMembership());
}

TEST_F(JoinTest, RefusesACertificateForSomebodyElse) {
  TestCoordinator coordinator;
  coordinator.wrong_name = "pc2";
  EXPECT_THAT(JoinNow(coordinator.Token(pki::Role::kUser), "anna"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("user/pc2")));
  EXPECT_FALSE(HasMembership());
}

TEST_F(JoinTest, SaysHowWrongTheClockIs) {
  TestCoordinator from_tomorrow({}, absl::Now() + absl::Hours(24));
  EXPECT_THAT(JoinNow(from_tomorrow.Token(pki::Role::kWorker)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("in the past")));
  EXPECT_THAT(from_tomorrow.joins(), SizeIs(0));

  TestCoordinator coordinator;
  coordinator.clock_ahead = absl::Hours(30);
  EXPECT_THAT(JoinNow(coordinator.Token(pki::Role::kWorker)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("1 d 6 h in the past")));
  EXPECT_FALSE(HasMembership());
}

TEST_F(JoinTest, RefusesANameThatNoMemberCanHave) {
  TestCoordinator coordinator;
  EXPECT_THAT(JoinNow(coordinator.Token(pki::Role::kUser), "anna maria"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("anna maria")));
  EXPECT_THAT(coordinator.joins(), SizeIs(0));
}

TEST_F(JoinTest, AMemberRenewsItsCertificateWithAFreshKey) {
  TestCoordinator coordinator;
  const pki::Membership membership = coordinator.Admit(pki::Role::kUser, "anna");
  const auto renewed = Renew(
      membership, MakeChannel(coordinator.address(), Security::Of(membership)), absl::Seconds(20));
  ASSERT_OK(renewed);
  EXPECT_NE(renewed->key_pem, membership.key_pem);
  EXPECT_EQ(pki::HolderOf(*renewed)->identity, pki::HolderOf(membership)->identity);
  EXPECT_THAT(renewed->addresses, SizeIs(1));
}

TEST_F(JoinTest, NobodyRenewsWithoutACertificate) {
  TestCoordinator coordinator;
  const auto nobody =
      MakeChannel(coordinator.address(), Security::AsNobody(coordinator.authority().certificate()));
  EXPECT_THAT(Renew(coordinator.Admit(pki::Role::kUser, "anna"), nobody, absl::Seconds(20)),
              StatusIs(absl::StatusCode::kUnauthenticated, "no certificate"));
}

TEST_F(JoinTest, ACallTellsWhichAuthoritiesTheCoordinatorShowed) {
  TestCoordinator coordinator, other;
  const pki::Membership membership = coordinator.Admit(pki::Role::kUser, "anna");
  const auto stub =
      v1::Trust::NewStub(MakeChannel(coordinator.address(), Security::Of(membership)));
  grpc::ClientContext context;
  v1::WhoAmIResponse response;
  ASSERT_TRUE(stub->WhoAmI(&context, {}, &response).ok());
  const std::string shown = ShownOn(context);
  EXPECT_TRUE(KnowsAll(membership, shown));
  EXPECT_FALSE(KnowsAll(other.Admit(pki::Role::kUser, "anna"), shown));
}

}  // namespace
}  // namespace hpc::member
