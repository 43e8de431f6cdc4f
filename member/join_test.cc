#include "member/join.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "member/admission.h"
#include "member/testing.h"

namespace hpc::member {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
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
  const auto renewed = Renew(membership, coordinator.address(), absl::Seconds(20));
  ASSERT_OK(renewed);
  EXPECT_NE(renewed->key_pem, membership.key_pem);
  EXPECT_EQ(pki::HolderOf(*renewed)->identity, pki::HolderOf(membership)->identity);
  EXPECT_THAT(renewed->addresses, SizeIs(1));
}

TEST_F(JoinTest, AnotherClustersMemberIsNotRenewedHere) {
  TestCoordinator coordinator, stranger;
  EXPECT_THAT(
      Renew(stranger.Admit(pki::Role::kUser, "anna"), coordinator.address(), absl::Seconds(20)),
      StatusIs(absl::StatusCode::kUnauthenticated, _));
  EXPECT_EQ(coordinator.renewals(), 0);
}

TEST_F(JoinTest, ACoordinatorThatSaysNothingIsWaitedForUntilTheTimeout) {
  TestCoordinator coordinator;
  const UniqueFd mute(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof own;
  ASSERT_EQ(bind(mute.get(), reinterpret_cast<const sockaddr*>(&own), size), 0);
  ASSERT_EQ(listen(mute.get(), 5), 0);
  ASSERT_EQ(getsockname(mute.get(), reinterpret_cast<sockaddr*>(&own), &size), 0);
  const Endpoint silent{.host = "127.0.0.1", .port = ntohs(own.sin_port)};
  EXPECT_THAT(Renew(coordinator.Admit(pki::Role::kUser, "anna"), silent, absl::Milliseconds(50)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("no answer within 50ms")));
}

}  // namespace
}  // namespace hpc::member
