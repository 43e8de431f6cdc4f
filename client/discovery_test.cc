#include "client/discovery.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "common/files/files.h"
#include "common/pki/authority.h"
#include "common/pki/private_key.h"
#include "common/pki/signing_request.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"
#include "member/http2/testing/unix_listener.h"

namespace hpc::client {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uid_t kAda = 1000;
const Wishes kNoWish = {.user = kAda};

Environment Of(std::map<std::string, std::string> values) {
  return [values](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

class DiscoveryTest : public ::testing::Test {
 protected:
  DiscoveryTest() {
    char name[] = "/tmp/discovery_test.XXXXXX";
    dir_ = mkdtemp(name);
  }
  ~DiscoveryTest() override { RemoveTree(dir_).IgnoreError(); }

  // Leaves the state that 'hpcctl login' leaves, with dir_ as the folder of settings.
  void LogIn() const {
    const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
    const pki::Authority authority = *pki::Authority::Create("0123456789abcdef", now);
    const pki::PrivateKey key = *pki::PrivateKey::Generate();
    const pki::Membership anna = {
        .key_pem = *key.ToPem(""),
        .certificate_pem =
            authority
                .Sign(*pki::SigningRequest::Make(key),
                      {"0123456789abcdef", pki::Role::kUser, "anna"}, now, absl::Hours(1))
                ->ToPem(),
        .authorities_pem = authority.certificate().ToPem(),
        .addresses = {*ParseEndpoint("10.0.0.1:7077"), *ParseEndpoint("vpn.example:7")}};
    ASSERT_OK(pki::SaveMembership(dir_ + "/hpc/identity", anna));
  }

  std::string dir_;
};

TEST_F(DiscoveryTest, TheCommandLineComesBeforeTheEnvironment) {
  const auto way = FindCoordinator({.coordinator = "unix:/here", .user = kAda},
                                   Of({{"HPC_COORDINATOR", "unix:/elsewhere"}}));
  ASSERT_OK(way);
  EXPECT_EQ(way->endpoints[0].path, "/here");
  EXPECT_FALSE(way->security().is_tls());
}

TEST_F(DiscoveryTest, TheEnvironmentNamesOneToo) {
  EXPECT_EQ(FindCoordinator(kNoWish, Of({{"HPC_COORDINATOR", "unix:/a/b"}}))->endpoints[0].path,
            "/a/b");
}

TEST_F(DiscoveryTest, OverTcpTheMembershipIsUsed) {
  LogIn();
  const auto named =
      FindCoordinator(kNoWish, Of({{"HPC_COORDINATOR", "pc1"}, {"XDG_CONFIG_HOME", dir_}}));
  ASSERT_OK(named);
  EXPECT_EQ(named->endpoints[0].ToString(), "pc1:7077");
  EXPECT_TRUE(named->security().is_tls());
}

TEST_F(DiscoveryTest, AMemberNeedsNoNamedCoordinator) {
  LogIn();
  const auto way = FindCoordinator(kNoWish, Of({{"XDG_CONFIG_HOME", dir_}, {"HOME", "/nowhere"}}));
  ASSERT_OK(way);
  if (way->endpoints[0].is_unix) GTEST_SKIP() << "a coordinator runs here";
  EXPECT_EQ(way->endpoints[0].ToString(), "10.0.0.1:7077");
  EXPECT_EQ(way->endpoints[1].ToString(), "vpn.example:7");
  EXPECT_TRUE(way->security().is_tls());
}

TEST_F(DiscoveryTest, WhoIsNoMemberIsToldWhatIsWrongBeforeThat) {
  EXPECT_THAT(FindCoordinator({.coordinator = "127.0.0.1:1", .user = kAda},
                              Of({{"XDG_CONFIG_HOME", dir_}})),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("127.0.0.1:1 cannot be reached"), HasSubstr("--insecure"))));
}

TEST_F(DiscoveryTest, ADamagedMembershipIsNamed) {
  LogIn();
  ASSERT_OK(WriteFileAtomically(dir_ + "/hpc/identity/identity.pem", "!!"));
  EXPECT_THAT(
      FindCoordinator({.coordinator = "10.0.0.1", .user = kAda}, Of({{"XDG_CONFIG_HOME", dir_}})),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("identity.pem"), HasSubstr("hpcctl login"))));
}

TEST_F(DiscoveryTest, PlainTextStaysOnThisMachine) {
  const Environment accepts = Of({{"HPC_INSECURE", "1"}});
  EXPECT_OK(FindCoordinator({.coordinator = "127.0.0.1:1", .user = kAda}, accepts));
  EXPECT_FALSE(FindCoordinator({.coordinator = "[::1]:1", .insecure = true, .user = kAda}, Of({}))
                   ->security()
                   .is_tls());
  EXPECT_THAT(FindCoordinator({.coordinator = "10.0.0.1:1", .user = kAda}, accepts),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("10.0.0.1:1"), HasSubstr("hpcctl login TOKEN"))));
}

TEST_F(DiscoveryTest, AMembershipLiesWithTheUsersOtherSettings) {
  EXPECT_EQ(IdentityFolder(Of({{"XDG_CONFIG_HOME", "/c"}, {"HOME", "/h"}})), "/c/hpc/identity");
  EXPECT_EQ(IdentityFolder(Of({{"HOME", "/h"}})), "/h/.config/hpc/identity");
}

TEST_F(DiscoveryTest, AUsersOwnSocketIsFound) {
  ASSERT_OK(MakeDirs(dir_ + "/hpc"));
  const UniqueFd listener = wire::testing::ListenAtSocket(dir_ + "/hpc/coordinator.sock");
  const auto way = FindCoordinator(kNoWish, Of({{"XDG_RUNTIME_DIR", dir_}}));
  ASSERT_OK(way);
  EXPECT_TRUE(way->endpoints[0].is_unix);
}

TEST_F(DiscoveryTest, ASocketThatNobodyListensAtIsPassedOver) {
  ASSERT_OK(MakeDirs(dir_ + "/hpc"));
  wire::testing::ListenAtSocket(dir_ + "/hpc/coordinator.sock");
  ASSERT_OK(MakeDirs(dir_ + "/hpc/coordinator"));
  const std::string live = dir_ + "/hpc/coordinator/coordinator.sock";
  const UniqueFd listener = wire::testing::ListenAtSocket(live);
  const auto way =
      FindCoordinator(kNoWish, Of({{"XDG_RUNTIME_DIR", dir_}, {"XDG_STATE_HOME", dir_}}));
  ASSERT_OK(way);
  EXPECT_EQ(way->endpoints[0].path, live);
}

TEST_F(DiscoveryTest, NoneAtAllSaysWhereItLookedAndWhatToDo) {
  if (access("/run/hpc/coordinator.sock", F_OK) == 0) GTEST_SKIP() << "a coordinator runs here";
  ASSERT_OK(MakeDirs(dir_ + "/hpc"));
  wire::testing::ListenAtSocket(dir_ + "/hpc/coordinator.sock");
  EXPECT_THAT(FindCoordinator(kNoWish, Of({{"XDG_RUNTIME_DIR", dir_}, {"HOME", "/nowhere"}})),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(dir_ + "/hpc/coordinator.sock (nobody listens), "),
                             HasSubstr("/run/hpc/coordinator.sock (no such socket)"),
                             HasSubstr("HPC_COORDINATOR=unix:PATH"))));
}

TEST_F(DiscoveryTest, ABadAddressIsNamedWithItsSource) {
  EXPECT_THAT(FindCoordinator({.coordinator = "pc1:port", .user = kAda}, Of({})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--coordinator: 'pc1:port'"), HasSubstr("unix:PATH"))));
  EXPECT_THAT(FindCoordinator(kNoWish, Of({{"HPC_COORDINATOR", "unix:"}})),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HPC_COORDINATOR: 'unix:'")));
}

TEST_F(DiscoveryTest, WhatWasFoundAtASocketIsSaid) {
  Endpoint endpoint;
  endpoint.is_unix = true;
  endpoint.path = dir_ + "/s";
  const auto error = [&] {
    return UnreachableError(
        {{endpoint, WhyUnreachable(endpoint, member::Security::PlainText(),
                                   absl::UnavailableError(""), absl::ZeroDuration())}});
  };
  EXPECT_THAT(error(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("unix:" + endpoint.path), HasSubstr("no such socket"),
                             HasSubstr("HPC_COORDINATOR=ADDR:PORT"))));
  wire::testing::ListenAtSocket(endpoint.path);
  EXPECT_THAT(std::string(error().message()), HasSubstr("nobody listens"));
  unlink(endpoint.path.c_str());
  const UniqueFd listener = wire::testing::ListenAtSocket(endpoint.path);
  EXPECT_THAT(std::string(error().message()), HasSubstr("does not answer"));
}

TEST_F(DiscoveryTest, AFolderThatIsClosedToTheCallerIsNamed) {
  Endpoint endpoint;
  endpoint.is_unix = true;
  const std::string folder = dir_ + "/closed";
  endpoint.path = folder + "/s";
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  const UniqueFd listener = wire::testing::ListenAtSocket(endpoint.path);
  ASSERT_EQ(chmod(folder.c_str(), 0), 0);
  const uid_t self = geteuid();
  // Root may enter any folder, so another user is needed.
  const bool left = self != 0 || seteuid(65534) == 0;
  const std::string found(WhyUnreachable(endpoint, member::Security::PlainText(),
                                         absl::UnavailableError(""), absl::ZeroDuration())
                              .message());
  const bool back = self != 0 || seteuid(self) == 0;
  ASSERT_TRUE(left && back);
  chmod(folder.c_str(), 0700);
  EXPECT_THAT(found, HasSubstr("you may not enter the folder "));
  EXPECT_THAT(found, Not(HasSubstr("group")));
}

TEST_F(DiscoveryTest, EveryAddressThatWasTriedIsTold) {
  const absl::Status error =
      UnreachableError({{*ParseEndpoint("10.0.0.1:1"), absl::UnavailableError("refused")},
                        {*ParseEndpoint("10.0.0.2:2"), absl::UnauthenticatedError("a stranger")}});
  EXPECT_THAT(error, StatusIs(absl::StatusCode::kUnauthenticated,
                              AllOf(HasSubstr("10.0.0.1:1 cannot be reached: refused"),
                                    HasSubstr("10.0.0.2:2 cannot be reached: a stranger"))));
}

}  // namespace
}  // namespace hpc::client
