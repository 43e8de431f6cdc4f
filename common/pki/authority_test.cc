#include "common/pki/authority.h"

#include "common/pki/verify.h"
#include "common/status_matchers.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;

constexpr char kCluster[] = "0123456789abcdef";
const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
const Identity kAnna{kCluster, Role::kUser, "anna"};
constexpr absl::Duration kDay = absl::Hours(24);

Authority MakeAuthority() { return *Authority::Create(kCluster, kNow); }

Certificate Issue(const Authority& authority, const Identity& identity,
                  absl::Duration lifetime = kDay) {
  const SigningRequest request = *SigningRequest::Make(*PrivateKey::Generate());
  return *authority.Sign(request, identity, kNow, lifetime);
}

absl::StatusOr<Identity> Check(const Certificate& certificate, const Authority& trusted,
                               absl::Time now = kNow, Use use = Use::kClient) {
  return Verify(certificate, {}, {trusted.certificate()}, use, now);
}

TEST(AuthorityTest, SignsForTheMemberThatItIsTold) {
  const Authority authority = MakeAuthority();
  const auto identity = Check(Issue(authority, kAnna), authority);
  ASSERT_OK(identity);
  EXPECT_EQ(*identity, kAnna);
}

TEST(AuthorityTest, GivesEveryCertificateASerialOfItsOwn) {
  const Authority authority = MakeAuthority();
  const std::string one = Issue(authority, kAnna).Serial();
  EXPECT_EQ(one.size(), 32);
  EXPECT_NE(one, Issue(authority, kAnna).Serial());
}

TEST(AuthorityTest, IsReadBackFromItsCertificateAndKey) {
  const Authority authority = MakeAuthority();
  const auto key = PrivateKey::FromPem(*authority.key().ToPem("pass"), "pass");
  const auto certificate = Certificate::FromPem(authority.certificate().ToPem());
  const auto again = Authority::From(*certificate, *key);
  ASSERT_OK(again);
  EXPECT_OK(Check(Issue(*again, kAnna), authority));
}

TEST(AuthorityTest, RefusesAKeyThatIsNotItsOwn) {
  const Authority authority = MakeAuthority();
  EXPECT_THAT(Authority::From(authority.certificate(), *PrivateKey::Generate()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("do not belong together")));
  EXPECT_THAT(Authority::From(Issue(authority, kAnna), authority.key()),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not an authority's")));
}

TEST(VerifyTest, RefusesWhatAnotherAuthoritySigned) {
  EXPECT_THAT(Check(Issue(MakeAuthority(), kAnna), MakeAuthority()),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("this cluster's authority")));
}

TEST(VerifyTest, RefusesACertificateBeforeAndAfterItsTime) {
  const Authority authority = MakeAuthority();
  const Certificate certificate = Issue(authority, kAnna);
  EXPECT_THAT(Check(certificate, authority, kNow + kDay + absl::Seconds(1)),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("expired at 20")));
  EXPECT_THAT(Check(certificate, authority, kNow - kBackdate - absl::Seconds(1)),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not valid before 20")));
  EXPECT_OK(Check(certificate, authority, kNow - kBackdate));
  EXPECT_OK(Check(certificate, authority, absl::InfinitePast()));
}

TEST(VerifyTest, RefusesAMembersCertificateAsACoordinators) {
  const Authority authority = MakeAuthority();
  const Identity coordinator{kCluster, Role::kCoordinator, "master"};
  EXPECT_THAT(
      Check(Issue(authority, kAnna), authority, kNow, Use::kServer),
      StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not made for a coordinator")));
  EXPECT_THAT(Check(Issue(authority, coordinator), authority, kNow, Use::kClient),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not made for a client")));
  EXPECT_OK(Check(Issue(authority, coordinator), authority, kNow, Use::kServer));
}

TEST(VerifyTest, RefusesACertificateThatAMemberSigned) {
  const Authority authority = MakeAuthority();
  const PrivateKey key = *PrivateKey::Generate();
  const Certificate member = *authority.Sign(*SigningRequest::Make(key), kAnna, kNow, kDay);
  // Authority::From would refuse the member's certificate. So an authority that nobody trusts signs
  // in the member's place.
  const Authority forger = MakeAuthority();
  const Certificate forged = Issue(forger, {kCluster, Role::kAdmin, "anna"});
  EXPECT_THAT(
      Verify(forged, {member, forger.certificate()}, {authority.certificate()}, Use::kClient, kNow),
      StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("this cluster's authority")));
}

TEST(VerifyTest, FollowsACrossSignedAuthorityFromOldTrustToNew) {
  const Authority before = MakeAuthority();
  const Authority after = MakeAuthority();
  const Certificate bridge = *before.CrossSign(after, kNow);
  const Certificate leaf = Issue(after, kAnna);
  EXPECT_OK(Verify(leaf, {bridge}, {before.certificate()}, Use::kClient, kNow));
  EXPECT_OK(Verify(leaf, {bridge}, {after.certificate()}, Use::kClient, kNow));
  EXPECT_FALSE(Verify(leaf, {}, {before.certificate()}, Use::kClient, kNow).ok());
}

TEST(CertificateTest, KeepsItsContentsThroughPem) {
  const Authority authority = MakeAuthority();
  const Certificate certificate = Issue(authority, kAnna);
  const auto both = CertificatesFromPem(certificate.ToPem() + authority.certificate().ToPem());
  ASSERT_OK(both);
  ASSERT_EQ(both->size(), 2);
  EXPECT_EQ(both->front().Serial(), certificate.Serial());
  EXPECT_EQ(both->front().not_before(), kNow - kBackdate);
  EXPECT_EQ(both->front().not_after(), kNow + kDay);
  EXPECT_EQ(both->back().PublicKeyHash(), authority.certificate().PublicKeyHash());
  EXPECT_EQ(authority.certificate().PublicKeyHash().size(), 32);
}

TEST(CertificateTest, RefusesWhatIsNone) {
  const std::string good = MakeAuthority().certificate().ToPem();
  for (const std::string& text :
       {std::string(), std::string("hello"), good.substr(0, good.size() / 2)}) {
    EXPECT_THAT(Certificate::FromPem(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a certificate")));
    EXPECT_FALSE(CertificatesFromPem(text).ok());
  }
  EXPECT_FALSE(CertificatesFromPem(good + good.substr(0, good.size() / 2)).ok());
}

TEST(CertificateTest, OfAnAuthorityNamesNoMember) {
  EXPECT_THAT(MakeAuthority().certificate().GetIdentity(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("names no member")));
}

TEST(CertificateTest, IsOfTheKeyThatItWasSignedFor) {
  const Authority authority = *Authority::Create("0123456789abcdef", absl::FromUnixSeconds(1));
  EXPECT_TRUE(authority.certificate().IsOf(authority.key()));
  EXPECT_FALSE(authority.certificate().IsOf(*PrivateKey::Generate()));
}

}  // namespace
}  // namespace hpc::pki
