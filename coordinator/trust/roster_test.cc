#include "coordinator/trust/roster.h"

#include "common/pki/join_token.h"
#include "common/status_matchers.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using pki::Role;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kHour = absl::Hours(1);
constexpr char kSecret[] = "0123456789abcdef";

CertificateRecord Issued(const std::string& serial, Role role, const std::string& name) {
  CertificateRecord certificate;
  certificate.serial = serial;
  certificate.role = role;
  certificate.name = name;
  certificate.issued_at = kNow;
  certificate.expires_at = kNow + 24 * kHour;
  return certificate;
}

class RosterTest : public ::testing::Test {
 protected:
  TokenRecord Token(const TokenRequest& request, const std::string& secret = kSecret) {
    const auto token = roster_.CreateToken(kNow, request, secret);
    EXPECT_OK(token);
    return *token;
  }
  absl::Status Redeem(Role role, const std::string& name, absl::Time now = kNow,
                      const std::string& secret = kSecret) {
    const auto admission = roster_.Redeem(now, secret, role, name);
    if (!admission.ok()) return admission.status();
    roster_.Add(Issued(std::string(31, '0') + std::to_string(++serials_), role, name));
    return absl::OkStatus();
  }

  Roster roster_{TrustSnapshot()};
  int serials_ = 0;
};

TEST_F(RosterTest, LetsInWhoHasATokenAsOftenAsItWorks) {
  Token({.role = Role::kWorker, .name = "", .uses = 2, .lifetime = kHour, .by = "admin"});
  EXPECT_OK(Redeem(Role::kWorker, "pc1"));
  EXPECT_OK(Redeem(Role::kWorker, "pc2"));
  EXPECT_THAT(Redeem(Role::kWorker, "pc3"),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("used up"), HasSubstr("token create --role worker"))));
}

TEST_F(RosterTest, KnowsACertificateEvenOnceItIsRevoked) {
  EXPECT_FALSE(roster_.Knows("1"));
  roster_.Add(Issued("1", Role::kAdmin, "anna"));
  EXPECT_OK(roster_.Revoke(kNow, "anna", "bert", ""));
  EXPECT_TRUE(roster_.Knows("1"));
}

TEST_F(RosterTest, RefusesATokenThatItNeverGave) {
  EXPECT_THAT(Redeem(Role::kWorker, "pc1"),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("never gave out")));
}

TEST_F(RosterTest, RefusesATokenWhoseTimeIsOver) {
  Token({.lifetime = kHour});
  EXPECT_THAT(Redeem(Role::kWorker, "pc1", kNow + kHour),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("expired at 20")));
  EXPECT_OK(Redeem(Role::kWorker, "pc1", kNow + kHour - absl::Seconds(1)));
}

TEST_F(RosterTest, RefusesATokenThatWasRevoked) {
  const TokenRecord token = Token({});
  EXPECT_TRUE(roster_.RevokeToken(token.id)->revoked);
  EXPECT_THAT(Redeem(Role::kWorker, "pc1"),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("revoked")));
  EXPECT_THAT(roster_.RevokeToken("abc"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("token list")));
}

TEST_F(RosterTest, RefusesATokenForAnotherRole) {
  Token({.role = Role::kUser});
  EXPECT_THAT(Redeem(Role::kWorker, "pc1"), StatusIs(absl::StatusCode::kPermissionDenied,
                                                     HasSubstr("for users, not for workers")));
  EXPECT_THAT(Redeem(Role::kAdmin, "anna"), StatusIs(absl::StatusCode::kPermissionDenied,
                                                     HasSubstr("for users, not for admins")));
}

TEST_F(RosterTest, RefusesAMalformedNameAndKeepsTheUse) {
  Token({});
  EXPECT_THAT(Redeem(Role::kWorker, "../pc"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("../pc")));
  EXPECT_OK(Redeem(Role::kWorker, "pc1"));
}

TEST_F(RosterTest, KeepsAPcsNameForItAndSaysHowItIsReplaced) {
  roster_.Add(Issued("a", Role::kWorker, "pc1"));
  Token({});
  EXPECT_THAT(Redeem(Role::kWorker, "pc1"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("token create --name pc1")));
  EXPECT_OK(Redeem(Role::kWorker, "pc2"));
}

TEST_F(RosterTest, ReplacesAPcWithATokenOfItsName) {
  roster_.Add(Issued("a", Role::kWorker, "pc1"));
  Token({.name = "pc1", .by = "admin"});
  EXPECT_THAT(Redeem(Role::kWorker, "pc2"),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("is for pc1, not for pc2")));
  const auto admission = roster_.Redeem(kNow, kSecret, Role::kWorker, "pc1");
  ASSERT_OK(admission);
  ASSERT_EQ(admission->replaced.size(), 1);
  EXPECT_EQ(admission->replaced[0].serial, "a");
  EXPECT_FALSE(roster_.CheckNotRevoked("a").ok());
}

TEST_F(RosterTest, TakesOneNameForOnePersonWhateverTheyMayDo) {
  roster_.Add(Issued("a", Role::kUser, "anna"));
  roster_.Add(Issued("b", Role::kWorker, "berta"));
  Token({.role = Role::kAdmin, .uses = 2});
  EXPECT_THAT(Redeem(Role::kAdmin, "anna"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("--role admin --name anna")));
  EXPECT_OK(Redeem(Role::kAdmin, "berta"));
}

TEST_F(RosterTest, RefusesANameThatDiffersFromAMembersInCaseAlone) {
  roster_.Add(Issued("a", Role::kUser, "anna"));
  Token({.role = Role::kAdmin, .uses = 2});
  EXPECT_THAT(Redeem(Role::kAdmin, "Anna"),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("only in capital letters")));
  EXPECT_EQ(
      roster_.CreateToken(kNow, {.role = Role::kUser, .name = "ANNA"}, "secret").status().code(),
      absl::StatusCode::kAlreadyExists);
  EXPECT_OK(Redeem(Role::kAdmin, "annas"));
}

TEST_F(RosterTest, LetsAPersonInOnAnotherComputerWithATokenOfTheirName) {
  roster_.Add(Issued("a", Role::kUser, "anna"));
  Token({.role = Role::kUser, .name = "anna"});
  EXPECT_OK(Redeem(Role::kUser, "anna"));
  EXPECT_OK(roster_.CheckNotRevoked("a"));
}

TEST_F(RosterTest, GivesARevokedNameAgainOnlyForATokenThatIsMadeForIt) {
  roster_.Add(Issued("a", Role::kUser, "anna"));
  ASSERT_OK(roster_.Revoke(kNow, "anna", "admin", ""));
  Token({.role = Role::kUser, .uses = 2});
  EXPECT_THAT(Redeem(Role::kUser, "anna"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("anna was revoked"), HasSubstr("--role user --name anna"))));
  EXPECT_OK(Redeem(Role::kUser, "bert"));
}

TEST_F(RosterTest, LetsARevokedMemberInAgainWithATokenOfTheirName) {
  roster_.Add(Issued("a", Role::kWorker, "pc1"));
  ASSERT_OK(roster_.Revoke(kNow, "pc1", "admin", ""));
  Token({.name = "pc1"});
  EXPECT_OK(Redeem(Role::kWorker, "pc1"));
}

TEST_F(RosterTest, RefusesTokensThatMakeNoSense) {
  for (const TokenRequest& request :
       {TokenRequest{.role = Role::kCoordinator}, TokenRequest{.name = "p c"},
        TokenRequest{.uses = 0}, TokenRequest{.uses = 1001}, TokenRequest{.name = "pc1", .uses = 2},
        TokenRequest{.lifetime = absl::ZeroDuration()}, TokenRequest{.lifetime = 721 * kHour}}) {
    EXPECT_THAT(roster_.CreateToken(kNow, request, kSecret),
                StatusIs(absl::StatusCode::kInvalidArgument, ::testing::_));
  }
  EXPECT_TRUE(roster_.Tokens().empty());
}

TEST_F(RosterTest, NeverKeepsASecret) {
  const TokenRecord token = Token({});
  EXPECT_EQ(token.secret_hash.size(), 64);
  EXPECT_EQ(token.secret_hash.find(kSecret), std::string::npos);
}

TEST_F(RosterTest, RevokesAMemberByNameByRoleAndNameAndBySerial) {
  roster_.Add(Issued("a", Role::kWorker, "pc1"));
  roster_.Add(Issued("b", Role::kWorker, "pc1"));
  roster_.Add(Issued("c", Role::kUser, "anna"));
  roster_.Add(Issued("d", Role::kUser, "anna"));
  EXPECT_EQ(roster_.Revoke(kNow, "c", "root", "stolen")->certificates.size(), 1);
  EXPECT_EQ(roster_.Revoke(kNow, "worker/pc1", "root", "")->certificates.size(), 2);
  EXPECT_OK(roster_.CheckNotRevoked("d"));
  EXPECT_THAT(roster_.CheckNotRevoked("c"),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("user anna"), HasSubstr("by root: stolen"))));
  EXPECT_THAT(roster_.Revoke(kNow, "pc1", "root", ""),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("cert list")));
}

TEST_F(RosterTest, RevokesNothingWhereANameIsAmbiguous) {
  roster_.Add(Issued("a", Role::kWorker, "box"));
  roster_.Add(Issued("b", Role::kUser, "box"));
  EXPECT_THAT(roster_.Revoke(kNow, "box", "root", ""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("user/box and worker/box")));
  EXPECT_OK(roster_.CheckNotRevoked("a"));
}

TEST_F(RosterTest, ForgetsNothingOverARestart) {
  Token({.uses = 2});
  ASSERT_OK(Redeem(Role::kWorker, "pc1"));
  ASSERT_OK(roster_.Revoke(kNow, "pc1", "root", ""));
  Roster again(TrustSnapshot{roster_.Tokens(), roster_.Certificates()});
  EXPECT_EQ(again.Tokens(), roster_.Tokens());
  EXPECT_FALSE(again.CheckNotRevoked(again.Certificates()[0].serial).ok());
  EXPECT_FALSE(again.Redeem(kNow, kSecret, Role::kWorker, "pc1").ok());
  EXPECT_OK(again.Redeem(kNow, kSecret, Role::kWorker, "pc2"));
  EXPECT_FALSE(again.Redeem(kNow, kSecret, Role::kWorker, "pc3").ok());
}

TEST_F(RosterTest, VoidsTheTokensOfWhoIsShutOutAndNoOthers) {
  Token({.role = Role::kUser, .name = "anna"});
  roster_.Add(Issued("a", Role::kUser, "bert"));
  roster_.Add(Issued("b", Role::kWorker, "anna"));
  roster_.Add(Issued("c", Role::kUser, "anna"));
  roster_.Add(Issued("d", Role::kUser, "anna"));
  EXPECT_THAT(roster_.Revoke(kNow, "bert", "root", "")->tokens, IsEmpty());
  EXPECT_THAT(roster_.Revoke(kNow, "worker/anna", "root", "")->tokens, IsEmpty());
  const auto one = roster_.Revoke(kNow, "c", "root", "");
  EXPECT_FALSE(one->shut_out);
  EXPECT_THAT(one->tokens, IsEmpty()) << "anna has another certificate";
  const auto both = roster_.Revoke(kNow, "user/anna", "root", "");
  EXPECT_TRUE(both->shut_out);
  EXPECT_THAT(both->tokens, SizeIs(1));
  EXPECT_FALSE(Redeem(Role::kUser, "anna").ok());
}

TEST_F(RosterTest, VoidsEveryTokenWhenTheAuthorityChanges) {
  Token({});
  EXPECT_EQ(roster_.RevokeAllTokens(kNow).size(), 1);
  EXPECT_FALSE(Redeem(Role::kWorker, "pc1").ok());
}

}  // namespace
}  // namespace hpc::coordinator
