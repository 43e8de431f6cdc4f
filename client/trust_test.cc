// Tests how a person becomes a member and stays one: whole command lines, over real TLS.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "client/cli/command_line.h"
#include "common/files/files.h"
#include "common/pki/keyring.h"
#include "common/status_matchers.h"
#include "member/testing.h"

namespace hpc::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TrustTest : public ::testing::Test {
 protected:
  TrustTest() {
    RemoveTree(dir_).IgnoreError();
    variables_ = {{"XDG_CONFIG_HOME", dir_}, {"HOME", "/nowhere"}};
  }

  struct Done {
    int code;
    std::string out, err;
  };
  Done Hpcctl(const std::vector<std::string>& words) {
    Output out = Output::ToText(), err = Output::ToText();
    Session session(&out, &err, [this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    });
    const int code = RunCommandLine(words, &session);
    return {code, out.text(), err.text()};
  }
  // The coordinator is named, so that one which really runs on this machine is left alone.
  Done Whoami() { return Hpcctl({"whoami", "--coordinator", coordinator_.address().ToString()}); }
  std::string Line(pki::Role role) const { return pki::FormatJoinToken(coordinator_.Token(role)); }
  pki::Membership Saved() const { return *pki::LoadMembership(folder_); }
  void Save(const pki::Membership& membership) const {
    ASSERT_OK(pki::SaveMembership(folder_, membership));
  }

  const std::string dir_ = ::testing::TempDir() + "trust";
  const std::string folder_ = dir_ + "/hpc/identity";
  std::map<std::string, std::string> variables_;
  member::TestCoordinator coordinator_;
};

TEST_F(TrustTest, ALoginMakesAMember) {
  const Done login = Hpcctl({"login", Line(pki::Role::kUser), "--name", "anna"});
  EXPECT_EQ(login.code, 0);
  EXPECT_EQ(login.out,
            absl::StrCat("you are user anna of the cluster at ", coordinator_.address().ToString(),
                         "; see what it does: hpcctl status\n"));
  const Done me = Whoami();
  EXPECT_EQ(me.code, 0);
  EXPECT_THAT(me.out, AllOf(HasSubstr("anna"), HasSubstr("user"), HasSubstr("certificate")));
  EXPECT_THAT(Hpcctl({"login", Line(pki::Role::kUser)}).err, HasSubstr("user anna"));
}

TEST_F(TrustTest, WhoIsNoMemberIsToldHowToBecomeOne) {
  const Done me = Whoami();
  EXPECT_EQ(me.code, 2);
  EXPECT_THAT(me.err, AllOf(HasSubstr(coordinator_.address().ToString()), HasSubstr("members only"),
                            HasSubstr("hpcctl login TOKEN")));
}

TEST_F(TrustTest, ALoginThatCannotBeIsAUsageError) {
  EXPECT_THAT(Hpcctl({"login", Line(pki::Role::kWorker)}).err, HasSubstr("hpc-worker join"));
  EXPECT_EQ(Hpcctl({"login", Line(pki::Role::kWorker)}).code, 2);
  EXPECT_EQ(Hpcctl({"login", "hpc1-xyz"}).code, 2);
  EXPECT_THAT(Hpcctl({"login", Line(pki::Role::kUser), "--name", "a b"}).err, HasSubstr("--name"));
  EXPECT_TRUE(coordinator_.joins().empty());
}

TEST_F(TrustTest, ARefusedLoginSaysWhyAndChangesNothing) {
  coordinator_.refusal = grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "the token is used up");
  const Done login = Hpcctl({"login", Line(pki::Role::kAdmin), "--name", "anna"});
  EXPECT_EQ(login.code, 121);
  EXPECT_THAT(login.err, HasSubstr("did not let anna in: the token is used up"));
  EXPECT_TRUE(absl::IsNotFound(pki::LoadMembership(folder_).status()));
}

TEST_F(TrustTest, ACertificateThatIsDueIsRenewedBehindACommand) {
  const pki::Membership due =
      coordinator_.Admit(pki::Role::kUser, "anna", absl::Hours(3), absl::Now() - absl::Hours(2));
  Save(due);
  EXPECT_EQ(Whoami().code, 0);
  EXPECT_EQ(coordinator_.renewals(), 1);
  EXPECT_NE(Saved().key_pem, due.key_pem);
  EXPECT_EQ(Whoami().code, 0);
  EXPECT_EQ(coordinator_.renewals(), 1);
}

TEST_F(TrustTest, TheAddressThatAnsweredIsRememberedFirst) {
  pki::Membership anna = coordinator_.Admit(pki::Role::kUser, "anna");
  anna.addresses = {*ParseEndpoint("127.0.0.1:1")};
  Save(anna);
  EXPECT_EQ(Whoami().code, 0);
  ASSERT_EQ(Saved().addresses.size(), 2u);
  EXPECT_EQ(Saved().addresses[0], coordinator_.address());
}

TEST_F(TrustTest, AnotherCoordinatorIsRefusedInWords) {
  const member::TestCoordinator stranger;
  Save(stranger.Admit(pki::Role::kUser, "anna"));
  const Done me = Whoami();
  EXPECT_EQ(me.code, 121);
  EXPECT_THAT(me.err, AllOf(HasSubstr("not signed by this cluster's authority"),
                            HasSubstr("intercepting"), Not(HasSubstr("Ssl"))));
}

TEST_F(TrustTest, AKeyThatTlsCannotUseIsNamed) {
  pki::Membership anna = coordinator_.Admit(pki::Role::kUser, "anna");
  anna.key_pem[28] ^= 1;  // the tag of its outermost value
  Save(anna);
  const Done me = Whoami();
  EXPECT_NE(me.code, 0);
  EXPECT_THAT(me.err, AllOf(HasSubstr("identity.pem"), HasSubstr("hpcctl login TOKEN")));
}

TEST_F(TrustTest, ATokenIsAloneOnStdout) {
  Save(coordinator_.Admit(pki::Role::kAdmin, "anna"));
  variables_["HPC_COORDINATOR"] = coordinator_.address().ToString();
  const Done pc = Hpcctl({"token", "create"});
  EXPECT_EQ(pc.out, Line(pki::Role::kWorker) + "\n");
  EXPECT_THAT(pc.err, AllOf(HasSubstr("lets one PC in until"), HasSubstr("hpc-worker join")));
  const Done users = Hpcctl({"token", "create", "--role", "user", "--uses", "3"});
  EXPECT_EQ(users.out, Line(pki::Role::kUser) + "\n");
  EXPECT_THAT(users.err, AllOf(HasSubstr("lets 3 users in"), HasSubstr("hpcctl login")));
  EXPECT_THAT(Hpcctl({"token", "create", "--address", "a:b"}).err, HasSubstr("--address: 'a:b'"));
  EXPECT_EQ(Hpcctl({"token", "create", "--role", "king"}).code, 2);
}

TEST_F(TrustTest, AClusterIsMadeOnceOnItsCoordinatorsMachine) {
  const std::string state = dir_ + "/coordinator";
  const Done made = Hpcctl({"cluster", "init", "--state-dir", state});
  EXPECT_EQ(made.code, 0);
  EXPECT_THAT(made.err, HasSubstr("start hpc-coordinator --state-dir " + state));
  const auto keyring = pki::Keyring::Load({state + "/keys", "", ""}, absl::Now());
  ASSERT_OK(keyring);
  EXPECT_THAT(made.out, AllOf(HasSubstr(keyring->cluster()), HasSubstr("you are admin ")));
  const auto founder = pki::HolderOf(Saved());
  ASSERT_OK(founder);
  EXPECT_EQ(founder->identity.cluster, keyring->cluster());
  EXPECT_EQ(founder->identity.role, pki::Role::kAdmin);
  const Done again = Hpcctl({"cluster", "init", "--state-dir", state});
  EXPECT_EQ(again.code, 121);
  EXPECT_THAT(again.err, HasSubstr("there is an authority already"));
  EXPECT_EQ(pki::Keyring::Load({state + "/keys", "", ""}, absl::Now())->cluster(),
            keyring->cluster());
}

TEST_F(TrustTest, WhoBelongsToAnotherClusterStaysItsMember) {
  const pki::Membership anna = coordinator_.Admit(pki::Role::kUser, "anna");
  Save(anna);
  const Done made = Hpcctl({"cluster", "init", "--state-dir", dir_ + "/coordinator"});
  EXPECT_EQ(made.code, 0);
  EXPECT_THAT(made.err, HasSubstr("the membership in " + folder_ + " stays as it is"));
  EXPECT_EQ(Saved().certificate_pem, anna.certificate_pem);
}

TEST_F(TrustTest, AnAuthoritysKeyMayBeElsewhereAndEncrypted) {
  const std::string state = dir_ + "/coordinator", key = dir_ + "/elsewhere.key";
  ASSERT_OK(MakeDirs(dir_));
  ASSERT_OK(WriteFileAtomically(dir_ + "/empty", "\n"));
  EXPECT_EQ(
      Hpcctl({"cluster", "init", "--state-dir", state, "--passphrase-file", dir_ + "/empty"}).code,
      2);
  ASSERT_OK(WriteFileAtomically(dir_ + "/pass", "correct horse\n"));
  EXPECT_EQ(Hpcctl({"cluster", "init", "--state-dir", state, "--authority-key", key,
                    "--passphrase-file", dir_ + "/pass"})
                .code,
            0);
  EXPECT_OK(pki::Keyring::Load({state + "/keys", key, "correct horse"}, absl::Now()));
  EXPECT_THAT(*ReadFile(key), HasSubstr("ENCRYPTED"));
}

}  // namespace
}  // namespace hpc::client
