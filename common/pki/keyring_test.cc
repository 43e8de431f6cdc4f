#include "common/pki/keyring.h"

#include <sys/stat.h>

#include "common/files/files.h"
#include "common/pki/tls/probe.h"
#include "common/pki/verify.h"
#include "common/status_matchers.h"

namespace hpc::pki {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
constexpr absl::Duration kDay = absl::Hours(24);

class KeyringTest : public ::testing::Test {
 protected:
  KeyringTest() : root_(::testing::TempDir() + "keyring"), place_{root_ + "/trust", "", ""} {
    EXPECT_OK(RemoveTree(root_));
  }

  static Certificate Member(const Keyring& keyring) {
    return *keyring.Sign(*SigningRequest::Make(*PrivateKey::Generate()), Role::kWorker, "pc1", kNow,
                         10 * kDay);
  }
  std::vector<Certificate> Shown(const Keyring& keyring) {
    return *CertificatesFromPem(*ReadFile(keyring.coordinator_chain_path()));
  }

  const std::string root_;
  KeyringPlace place_;
};

TEST_F(KeyringTest, IsReadBackAsItWasMade) {
  const auto made = Keyring::Create(place_, kNow);
  ASSERT_OK(made);
  const auto read = Keyring::Load(place_, kNow);
  ASSERT_OK(read);
  EXPECT_EQ(read->cluster(), made->cluster());
  EXPECT_EQ(read->AuthorityHash(), made->AuthorityHash());
  const auto identity = Verify(Member(*read), {}, made->Trusted(kNow), Use::kClient, kNow);
  ASSERT_OK(identity);
  EXPECT_EQ(*identity, (Identity{made->cluster(), Role::kWorker, "pc1"}));
}

TEST_F(KeyringTest, IsMadeOnce) {
  ASSERT_OK(Keyring::Create(place_, kNow));
  const std::string before = *ReadFile(place_.folder + "/authority.pem");
  EXPECT_THAT(Keyring::Create(place_, kNow),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("nothing was changed")));
  EXPECT_EQ(*ReadFile(place_.folder + "/authority.pem"), before);
}

TEST_F(KeyringTest, ThatWasNeverMadeIsNotFound) {
  EXPECT_THAT(Keyring::Load(place_, kNow), StatusIs(absl::StatusCode::kNotFound, HasSubstr("")));
}

TEST_F(KeyringTest, KeepsItsKeyElsewhereAndBehindAPassphraseWhereAsked) {
  ASSERT_OK(MakeDirs(root_ + "/stick"));
  place_.authority_key = root_ + "/stick/ca.key";
  place_.passphrase = "open sesame";
  ASSERT_OK(Keyring::Create(place_, kNow));
  struct stat info {};
  ASSERT_EQ(stat(place_.authority_key.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
  EXPECT_NE(stat((place_.folder + "/authority.key").c_str(), &info), 0);
  EXPECT_OK(Keyring::Load(place_, kNow));

  place_.passphrase = "open barley";
  EXPECT_THAT(Keyring::Load(place_, kNow),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("passphrase")));
  ASSERT_OK(RemoveTree(root_ + "/stick"));
  EXPECT_THAT(Keyring::Load(place_, kNow),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ca.key")));
}

TEST_F(KeyringTest, APassphraseIsALineAndNotNothing) {
  ASSERT_OK(MakeDirs(root_));
  const std::string file = root_ + "/pass";
  ASSERT_OK(WriteFileAtomically(file, "two words\n"));
  EXPECT_EQ(*ReadPassphrase(file), "two words");
  ASSERT_OK(WriteFileAtomically(file, " \n"));
  EXPECT_THAT(ReadPassphrase(file),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(file + " is empty")));
}

TEST_F(KeyringTest, SaysWhatToDoWithoutTheKey) {
  ASSERT_OK(Keyring::Create(place_, kNow));
  ASSERT_EQ(unlink((place_.folder + "/authority.key").c_str()), 0);
  EXPECT_THAT(Keyring::Load(place_, kNow),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("authority.key"), HasSubstr("hpc-coordinator restore FILE"),
                             HasSubstr("docs/SECURITY.md"))));
}

TEST_F(KeyringTest, SaysWhereTheClustersIdIsToBeFoundOnceItsFileIsLost) {
  ASSERT_OK(Keyring::Create(place_, kNow));
  const std::string path = place_.folder + "/cluster";
  const auto says = StatusIs(absl::StatusCode::kFailedPrecondition,
                             AllOf(HasSubstr(path), HasSubstr("coordinator.pem")));
  ASSERT_OK(WriteFileAtomically(path, "28572df80ced59"));
  EXPECT_THAT(Keyring::Load(place_, kNow), says);
  ASSERT_EQ(unlink(path.c_str()), 0);
  EXPECT_THAT(Keyring::Load(place_, kNow), says);
}

TEST_F(KeyringTest, NamesTheFileThatIsDamaged) {
  ASSERT_OK(Keyring::Create(place_, kNow));
  const std::string path = place_.folder + "/authority.key";
  const std::string good = *ReadFile(path);
  for (const size_t size : {size_t{0}, size_t{100}, good.size() / 2, good.size() - 40}) {
    ASSERT_OK(WriteFileAtomically(path, good.substr(0, size)));
    EXPECT_THAT(Keyring::Load(place_, kNow),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("authority.key")));
  }
}

TEST_F(KeyringTest, RefusesTheKeyOfAnotherClusterAndAnOlderOneOfItsOwn) {
  const KeyringPlace other{root_ + "/other", "", ""};
  ASSERT_OK(Keyring::Create(other, kNow));
  auto keyring = Keyring::Create(place_, kNow);
  const std::string path = place_.folder + "/authority.key";
  const std::string before = *ReadFile(path);
  const auto is_refused = StatusIs(
      absl::StatusCode::kFailedPrecondition,
      AllOf(HasSubstr("authority.key is not the key of this cluster"), HasSubstr("backup")));
  ASSERT_OK(WriteFileAtomically(path, *ReadFile(other.folder + "/authority.key"), 0600));
  EXPECT_THAT(Keyring::Load(place_, kNow), is_refused);

  ASSERT_OK(keyring->Rotate(kNow, kNow + kDay));
  ASSERT_OK(WriteFileAtomically(path, before, 0600));
  EXPECT_THAT(Keyring::Load(place_, kNow), is_refused);
}

TEST_F(KeyringTest, IsLoadedAfterARotationThatWasInterrupted) {
  auto keyring = Keyring::Create(place_, kNow);
  const std::string copy = *ReadFile(place_.folder + "/authority.pem");
  ASSERT_OK(keyring->Rotate(kNow, kNow + kDay));
  ASSERT_OK(WriteFileAtomically(place_.folder + "/authority.pem", copy, 0644));
  for (const absl::Time now : {kNow, kNow + 2 * kDay}) {
    const auto read = Keyring::Load(place_, now);
    ASSERT_OK(read);
    EXPECT_EQ(read->AuthorityHash(), keyring->AuthorityHash());
  }
}

TEST_F(KeyringTest, TellsWhenOthersMayReadTheKey) {
  const auto keyring = Keyring::Create(place_, kNow);
  EXPECT_OK(keyring->CheckKeyIsSecret());
  ASSERT_EQ(chmod((place_.folder + "/authority.key").c_str(), 0644), 0);
  EXPECT_THAT(keyring->CheckKeyIsSecret(), StatusIs(absl::StatusCode::kPermissionDenied,
                                                    HasSubstr("authority.key has mode 0644")));
}

TEST_F(KeyringTest, IssuesACoordinatorThatATokenHolderRecognises) {
  const auto keyring = Keyring::Create(place_, kNow);
  ASSERT_OK(keyring->IssueCoordinator(kNow, kDay));
  const auto shown = Shown(*keyring);
  EXPECT_OK(FindAuthority(shown, keyring->AuthorityHash()));
  EXPECT_OK(Verify(shown.front(), shown, keyring->Trusted(kNow), Use::kServer, kNow));
  EXPECT_OK(PrivateKey::FromPem(*ReadFile(keyring->coordinator_key_path()), ""));
}

TEST_F(KeyringTest, AfterARotationTrustsBothAuthoritiesForTheTimeThatWasAsked) {
  auto keyring = Keyring::Create(place_, kNow);
  const Certificate old_member = Member(*keyring);
  const std::vector<Certificate> old_trust = keyring->Trusted(kNow);
  ASSERT_OK(keyring->Rotate(kNow, kNow + kDay));

  const auto again = Keyring::Load(place_, kNow);
  ASSERT_OK(again);
  const Keyring* const both[] = {&*keyring, &*again};
  for (const Keyring* one : both) {
    EXPECT_OK(Verify(old_member, {}, one->Trusted(kNow), Use::kClient, kNow));
    EXPECT_OK(Verify(Member(*one), {}, one->Trusted(kNow + kDay), Use::kClient, kNow));
    EXPECT_FALSE(Verify(old_member, {}, one->Trusted(kNow + kDay), Use::kClient, kNow).ok());
    EXPECT_EQ(one->cluster(), keyring->cluster());
  }
  // A member that only knows the old authority still recognises the coordinator.
  ASSERT_OK(again->IssueCoordinator(kNow, kDay));
  const auto shown = Shown(*again);
  EXPECT_OK(Verify(shown.front(), shown, old_trust, Use::kServer, kNow));
  EXPECT_OK(Verify(shown.front(), shown, again->Trusted(kNow + kDay), Use::kServer, kNow));
}

TEST_F(KeyringTest, SeveralRotationsLockOutNobodyWithinTheTimeThatWasAsked) {
  auto keyring = Keyring::Create(place_, kNow);
  const std::vector<Certificate> first_trust = keyring->Trusted(kNow);
  const Certificate first_member = Member(*keyring);
  for (int i = 1; i <= 4; ++i) {
    ASSERT_OK(keyring->Rotate(kNow + absl::Seconds(i), kNow + kDay));
    ASSERT_OK(keyring->IssueCoordinator(kNow, kDay));
    const auto shown = Shown(*keyring);
    EXPECT_OK(Verify(shown.front(), shown, first_trust, Use::kServer, kNow)) << i;
    EXPECT_OK(Verify(first_member, {}, keyring->Trusted(kNow), Use::kClient, kNow)) << i;
  }
}

TEST_F(KeyringTest, ForgetsAnAuthorityWhoseTimeIsOver) {
  auto keyring = Keyring::Create(place_, kNow);
  ASSERT_OK(keyring->Rotate(kNow, kNow + kDay));
  EXPECT_EQ(Keyring::Load(place_, kNow)->Trusted(kNow).size(), 2);
  EXPECT_EQ(keyring->TrustedUntil(kNow), kNow + kDay);
  EXPECT_EQ(keyring->TrustedUntil(kNow + kDay), absl::InfiniteFuture());
  EXPECT_EQ(Keyring::Load(place_, kNow + kDay)->Trusted(kNow + kDay).size(), 1);
}

}  // namespace
}  // namespace hpc::pki
