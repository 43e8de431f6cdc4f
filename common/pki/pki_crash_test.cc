// The machine may stop after any file operation. Afterwards an authority that was made or changed
// is there, and an interrupted operation can begin again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/pki/founder.h"
#include "common/pki/keyring.h"
#include "common/pki/membership.h"
#include "common/pki/private_key.h"
#include "common/pki/signing_request.h"
#include "common/pki/verify.h"
#include "common/status_matchers.h"
#include "tests/testing/disk/power_cut.h"
#include "tests/testing/disk/scratch.h"

namespace hpc::pki {
namespace {

using hpc::testing::ForEachPowerCut;
using hpc::testing::PowerCut;
using hpc::testing::RecordedFolder;
using hpc::testing::Scratch;
using ::testing::AnyOf;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

KeyringPlace KeysIn(const std::string& folder) { return {folder + "/keys", "", ""}; }

TEST(KeyringCrashTest, AnAuthorityThatWasMadeIsThereAndOneThatWasBeingMadeCanBeMadeAgain) {
  const Scratch scratch;
  RecordedFolder folder(scratch.folder());
  const auto keyring = Keyring::Create(KeysIn(scratch.folder()), kNow);
  ASSERT_OK(keyring);
  const size_t made_at = folder.done();
  ForEachPowerCut(folder.Stop(), {.torn = 4, .parent = scratch.parent()}, [&](const PowerCut& cut) {
    const auto left = Keyring::Load(KeysIn(cut.folder), kNow);
    if (left.ok()) {
      EXPECT_EQ(left->AuthorityHash(), keyring->AuthorityHash());
      return;
    }
    EXPECT_LT(cut.done, made_at) << left.status();
    EXPECT_TRUE(absl::IsNotFound(left.status())) << left.status();
    EXPECT_OK(Keyring::Create(KeysIn(cut.folder), kNow));
    EXPECT_OK(Keyring::Load(KeysIn(cut.folder), kNow));
  });
}

TEST(KeyringCrashTest, ARotationHasHappenedOrNot) {
  const Scratch scratch;
  auto keyring = Keyring::Create(KeysIn(scratch.folder()), kNow);
  ASSERT_OK(keyring);
  const std::string old_hash = keyring->AuthorityHash();
  RecordedFolder folder(scratch.folder());
  ASSERT_OK(keyring->Rotate(kNow, kNow + absl::Hours(1)));
  const size_t rotated_at = folder.done();
  ForEachPowerCut(folder.Stop(), {.torn = 4, .parent = scratch.parent()}, [&](const PowerCut& cut) {
    auto left = Keyring::Load(KeysIn(cut.folder), kNow);
    ASSERT_OK(left);
    EXPECT_THAT(left->AuthorityHash(), AnyOf(old_hash, keyring->AuthorityHash()));
    if (cut.done >= rotated_at) {
      EXPECT_EQ(left->AuthorityHash(), keyring->AuthorityHash());
    }
    EXPECT_OK(left->IssueCoordinator(kNow, kCoordinatorLifetime));
    EXPECT_OK(left->Rotate(kNow, kNow + absl::Hours(1)));
    EXPECT_OK(Keyring::Load(KeysIn(cut.folder), kNow));
  });
}

TEST(MembershipCrashTest, ARenewedMembershipIsTheOldOneOrTheNewOne) {
  const Scratch scratch;
  const auto keyring = Keyring::Create(KeysIn(scratch.parent()), kNow);
  ASSERT_OK(keyring);
  auto one = MakeFounder(*keyring, scratch.parent() + "/keys", "anna", kNow);
  auto two = MakeFounder(*keyring, scratch.parent() + "/keys", "anna", kNow);
  ASSERT_OK(one);
  ASSERT_OK(two);
  RecordedFolder folder(scratch.folder());
  const std::string place = scratch.folder() + "/identity";
  ASSERT_OK(SaveMembership(place, *one));
  const size_t one_at = folder.done();
  ASSERT_OK(SaveMembership(place, *two));
  const size_t two_at = folder.done();
  ForEachPowerCut(folder.Stop(), {.torn = 4, .parent = scratch.parent()}, [&](const PowerCut& cut) {
    const auto left = LoadMembership(cut.folder + "/identity");
    if (cut.done >= two_at) {
      ASSERT_OK(left);
      EXPECT_EQ(left->key_pem, two->key_pem);
    } else if (cut.done >= one_at) {
      EXPECT_OK(left);
    } else {
      EXPECT_TRUE(left.ok() || absl::IsNotFound(left.status())) << left.status();
    }
  });
}

// Checks that the membership trusts the authority of its own certificate.
void CheckAgrees(const Membership& membership) {
  const auto certificate = Certificate::FromPem(membership.certificate_pem);
  const auto authorities = CertificatesFromPem(membership.authorities_pem);
  ASSERT_OK(certificate);
  ASSERT_OK(authorities);
  EXPECT_OK(Verify(*certificate, {}, *authorities, Use::kClient, kNow));
}

TEST(MembershipCrashTest, OneThatIsRenewedForANewAuthorityKnowsItsOwnAllTheTime) {
  const Scratch scratch;
  auto keyring = Keyring::Create(KeysIn(scratch.parent()), kNow);
  ASSERT_OK(keyring);
  const std::string keys = scratch.parent() + "/keys";
  const auto one = MakeFounder(*keyring, keys, "anna", kNow);
  ASSERT_OK(keyring->Rotate(kNow, kNow + absl::Hours(1)));
  const auto two = MakeFounder(*keyring, keys, "anna", kNow);
  ASSERT_OK(one);
  ASSERT_OK(two);
  ASSERT_OK(SaveMembership(scratch.folder() + "/identity", *one));
  RecordedFolder folder(scratch.folder());
  ASSERT_OK(SaveMembership(scratch.folder() + "/identity", *two));
  ForEachPowerCut(folder.Stop(), {.torn = 4, .parent = scratch.parent()}, [&](const PowerCut& cut) {
    const auto left = LoadMembership(cut.folder + "/identity");
    ASSERT_OK(left);
    EXPECT_THAT(left->key_pem, AnyOf(one->key_pem, two->key_pem));
    ASSERT_NO_FATAL_FAILURE(CheckAgrees(*left));
  });
}

TEST(MembershipCrashTest, OneThatTakesThePlaceOfAnotherClustersIsNeverMixedWithIt) {
  const Scratch scratch;
  std::vector<Membership> memberships;
  for (const char* cluster : {"/one", "/two"}) {
    const KeyringPlace place{scratch.parent() + cluster, "", ""};
    const auto keyring = Keyring::Create(place, kNow);
    ASSERT_OK(keyring);
    auto membership = MakeFounder(*keyring, place.folder, "anna", kNow);
    ASSERT_OK(membership);
    membership->addresses = {*ParseEndpoint(absl::StrCat("192.0.2.", memberships.size(), ":7077"))};
    memberships.push_back(*std::move(membership));
  }
  ASSERT_OK(SaveMembership(scratch.folder() + "/identity", memberships[0]));
  RecordedFolder folder(scratch.folder());
  ASSERT_OK(SaveMembership(scratch.folder() + "/identity", memberships[1]));
  const size_t replaced_at = folder.done();
  ForEachPowerCut(folder.Stop(), {.torn = 8, .parent = scratch.parent()}, [&](const PowerCut& cut) {
    const auto left = LoadMembership(cut.folder + "/identity");
    if (cut.done >= replaced_at) {
      ASSERT_OK(left);
      EXPECT_EQ(left->key_pem, memberships[1].key_pem);
    }
    if (absl::IsNotFound(left.status())) return;
    ASSERT_OK(left);
    ASSERT_NO_FATAL_FAILURE(CheckAgrees(*left));
    const bool old = left->key_pem == memberships[0].key_pem;
    EXPECT_EQ(left->addresses, memberships[old ? 0 : 1].addresses);
  });
}

}  // namespace
}  // namespace hpc::pki
