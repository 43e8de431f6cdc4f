#include "member/admission.h"

#include "common/files/files.h"
#include "common/pki/authority.h"
#include "common/pki/signing_request.h"
#include "common/status_matchers.h"

namespace hpc::member {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr char kCluster[] = "0123456789abcdef";
const pki::Identity kPc1 = {kCluster, pki::Role::kWorker, "pc1"};

struct Cluster {
  pki::Authority authority = *pki::Authority::Create(kCluster, kNow);

  pki::Certificate Sign(const pki::PrivateKey& key, const pki::Identity& identity) const {
    return *authority.Sign(*pki::SigningRequest::Make(key), identity, kNow, absl::Hours(24));
  }
  pki::JoinToken Token(pki::Role role) const {
    return {.role = role,
            .secret = "0123456789012345",
            .authority_hash = authority.certificate().PublicKeyHash(),
            .addresses = {*ParseEndpoint("10.0.0.1:7077"), *ParseEndpoint("vpn.example:7077")}};
  }
  Answer AnswerTo(const pki::PrivateKey& key, const pki::Identity& identity) const {
    return {Sign(key, identity).ToPem(), authority.certificate().ToPem()};
  }
};

TEST(ReadTokenTest, NamesTheProgramThatATokenIsFor) {
  const Cluster cluster;
  const std::string pc = pki::FormatJoinToken(cluster.Token(pki::Role::kWorker));
  const std::string user = pki::FormatJoinToken(cluster.Token(pki::Role::kUser));
  const std::string admin = pki::FormatJoinToken(cluster.Token(pki::Role::kAdmin));
  EXPECT_OK(ReadToken(pc, Door::kWorker));
  EXPECT_OK(ReadToken(user, Door::kClient));
  EXPECT_OK(ReadToken(admin, Door::kClient));
  EXPECT_THAT(ReadToken(pc, Door::kClient),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hpc-worker join")));
  EXPECT_THAT(ReadToken(admin, Door::kWorker),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("hpcctl login"), HasSubstr("admin"))));
  EXPECT_THAT(ReadToken(pc.substr(0, 40), Door::kWorker),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("hpcctl token create")));
}

class MembershipHereTest : public ::testing::Test {
 protected:
  MembershipHereTest() { RemoveTree(folder_).IgnoreError(); }

  void Save() {
    const pki::PrivateKey key = *pki::PrivateKey::Generate();
    auto membership = Accept(key, kPc1, cluster_.AnswerTo(key, kPc1));
    ASSERT_OK(membership);
    membership->addresses = {*ParseEndpoint("192.168.1.10:7077")};
    ASSERT_OK(pki::SaveMembership(folder_, *membership));
  }

  absl::Status MayReplace(const std::string& name = "pc1", bool user_says_so = false) const {
    return CheckMayReplace(folder_, cluster_.Token(pki::Role::kWorker), name, user_says_so);
  }

  const std::string folder_ = ::testing::TempDir() + "admission/identity";
  const Cluster cluster_;
};

TEST_F(MembershipHereTest, AFolderWithoutOneIsFine) {
  EXPECT_OK(MayReplace());
  EXPECT_OK(AlreadyMember(folder_));
}

TEST_F(MembershipHereTest, TheSameMemberOfTheSameClusterIsTheCoordinatorsAffair) {
  Save();
  EXPECT_OK(MayReplace());
}

TEST_F(MembershipHereTest, ToldIsWhichTokenReplacesIt) {
  Save();
  EXPECT_THAT(AlreadyMember(folder_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(folder_), HasSubstr("worker pc1"),
                             HasSubstr("hpcctl token create --role worker --name pc1"))));
}

TEST_F(MembershipHereTest, AnotherNameIsTakenOnlyIfTheUserSaysSo) {
  Save();
  EXPECT_THAT(MayReplace("pc2"),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("worker pc1"), HasSubstr("To become pc2"),
                             HasSubstr("--replace"), HasSubstr("cert revoke worker/pc1"))));
  EXPECT_OK(MayReplace("pc2", /*user_says_so=*/true));
}

TEST_F(MembershipHereTest, AnotherClusterIsToldOfBothAndJoinedOnlyIfTheUserSaysSo) {
  Save();
  const pki::JoinToken other = Cluster().Token(pki::Role::kWorker);
  EXPECT_THAT(
      CheckMayReplace(folder_, other, "pc1", false),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr(kCluster), HasSubstr("192.168.1.10:7077"),
                     HasSubstr("10.0.0.1:7077, vpn.example:7077"), HasSubstr("add --replace"))));
  EXPECT_OK(CheckMayReplace(folder_, other, "pc1", true));
}

TEST_F(MembershipHereTest, ADamagedOneIsNamedAndKeptUnlessTheUserSaysSo) {
  Save();
  ASSERT_OK(WriteFileAtomically(folder_ + "/identity.pem", "!!"));
  EXPECT_THAT(MayReplace(), StatusIs(absl::StatusCode::kInvalidArgument,
                                     AllOf(HasSubstr("identity.pem"), HasSubstr("--replace"))));
  EXPECT_OK(MayReplace("pc1", /*user_says_so=*/true));
}

TEST(CheckClockTest, SaysHowWrongTheClockIsAtLeast) {
  const Cluster cluster;
  const pki::Certificate coordinator = cluster.Sign(
      *pki::PrivateKey::Generate(), {kCluster, pki::Role::kCoordinator, "coordinator"});
  EXPECT_OK(CheckClock(coordinator, kNow));
  EXPECT_OK(CheckClock(coordinator, kNow - pki::kBackdate));
  EXPECT_THAT(
      CheckClock(coordinator, kNow - absl::Hours(25)),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("at least 1 d in the past"), HasSubstr("Nothing was changed"))));
  EXPECT_THAT(
      CheckClock(coordinator, kNow + absl::Hours(26)),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("at least 2 h in the future")));
}

TEST(AcceptTest, TakesWhatWasAskedFor) {
  const Cluster cluster;
  const pki::PrivateKey key = *pki::PrivateKey::Generate();
  const auto membership = Accept(key, kPc1, cluster.AnswerTo(key, kPc1));
  ASSERT_OK(membership);
  EXPECT_EQ(pki::HolderOf(*membership)->identity, kPc1);
  EXPECT_EQ(membership->key_pem, *key.ToPem(""));
}

TEST(AcceptTest, RefusesAnythingElse) {
  const Cluster cluster;
  const pki::PrivateKey key = *pki::PrivateKey::Generate();
  const auto refused = [&](const Answer& answer, const char* why) {
    EXPECT_THAT(Accept(key, kPc1, answer), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(why)));
  };
  const std::string authorities = cluster.authority.certificate().ToPem();
  refused({"nonsense", authorities}, "not a certificate");
  refused({cluster.Sign(key, kPc1).ToPem(), ""}, "not certificates");
  refused(cluster.AnswerTo(*pki::PrivateKey::Generate(), kPc1), "another key");
  refused(cluster.AnswerTo(key, {kCluster, pki::Role::kWorker, "pc2"}), "worker/pc2");
  refused(cluster.AnswerTo(key, {kCluster, pki::Role::kAdmin, "pc1"}), "admin/pc1");
  refused({Cluster().Sign(key, kPc1).ToPem(), authorities}, "authority");
}

TEST(CheckUsableTest, SaysHowWrongTheClockIs) {
  const Cluster cluster;
  const pki::PrivateKey key = *pki::PrivateKey::Generate();
  const pki::Membership membership = *Accept(key, kPc1, cluster.AnswerTo(key, kPc1));
  EXPECT_OK(CheckUsable(membership, kNow - absl::Minutes(59), kNow));
  EXPECT_THAT(CheckUsable(membership, kNow - absl::Hours(30), kNow),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("1 d 6 h in the past")));
  EXPECT_THAT(CheckUsable(membership, kNow + absl::Hours(30), kNow),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("1 d 6 h in the future")));
}

TEST(AnsweredFirstTest, KeepsTheOthersBehind) {
  const Endpoint a = *ParseEndpoint("10.0.0.1:1"), b = *ParseEndpoint("10.0.0.2:2");
  EXPECT_EQ(AnsweredFirst(b, {a, b}), (std::vector<Endpoint>{b, a}));
  EXPECT_EQ(AnsweredFirst(b, {a}), (std::vector<Endpoint>{b, a}));
  EXPECT_EQ(AnsweredFirst(b, std::vector<Endpoint>(20, a)).size(), 8u);
}

TEST(KnowsAllTest, NoticesANewAuthority) {
  const Cluster cluster;
  const pki::Authority next = *pki::Authority::Create(kCluster, kNow);
  const pki::PrivateKey key = *pki::PrivateKey::Generate();
  const pki::Membership membership = *Accept(key, kPc1, cluster.AnswerTo(key, kPc1));
  const std::string own = cluster.Sign(key, kPc1).ToPem();
  const std::string old = cluster.authority.certificate().ToPem();
  EXPECT_TRUE(KnowsAll(membership, own + old));
  EXPECT_FALSE(KnowsAll(membership, own + next.certificate().ToPem() + old));
  EXPECT_FALSE(KnowsAll(membership, own + cluster.authority.CrossSign(next, kNow)->ToPem() + old));
  EXPECT_TRUE(KnowsAll(membership, ""));
}

}  // namespace
}  // namespace hpc::member
