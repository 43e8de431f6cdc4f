#include "client/discovery.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "common/files.h"
#include "common/status_matchers.h"
#include "common/unique_fd.h"

namespace hpc::client {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uid_t kAda = 1000;

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

  // A socket file at `path`; somebody listens there while the result lives.
  static UniqueFd Listen(const std::string& path) {
    UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(fd.get(), 1), 0);
    return fd;
  }

  std::string dir_;
};

TEST_F(DiscoveryTest, TheCommandLineComesBeforeTheEnvironment) {
  const auto endpoint =
      FindCoordinator("10.0.0.1:99", Of({{"HPC_COORDINATOR", "unix:/elsewhere"}}), kAda);
  ASSERT_OK(endpoint);
  EXPECT_EQ(endpoint->ToString(), "10.0.0.1:99");
}

TEST_F(DiscoveryTest, TheEnvironmentNamesEitherForm) {
  EXPECT_EQ(FindCoordinator("", Of({{"HPC_COORDINATOR", "unix:/a/b"}}), kAda)->path, "/a/b");
  EXPECT_EQ(FindCoordinator("", Of({{"HPC_COORDINATOR", "pc1"}}), kAda)->ToString(), "pc1:7077");
}

TEST_F(DiscoveryTest, AUsersOwnSocketIsFound) {
  ASSERT_OK(MakeDirs(dir_ + "/hpc"));
  const UniqueFd listener = Listen(dir_ + "/hpc/coordinator.sock");
  const auto endpoint = FindCoordinator("", Of({{"XDG_RUNTIME_DIR", dir_}}), kAda);
  ASSERT_OK(endpoint);
  EXPECT_TRUE(endpoint->is_unix);
}

TEST_F(DiscoveryTest, ASocketThatNobodyListensAtIsPassedOver) {
  ASSERT_OK(MakeDirs(dir_ + "/hpc"));
  Listen(dir_ + "/hpc/coordinator.sock");
  ASSERT_OK(MakeDirs(dir_ + "/hpc/coordinator"));
  const std::string live = dir_ + "/hpc/coordinator/coordinator.sock";
  const UniqueFd listener = Listen(live);
  const auto endpoint =
      FindCoordinator("", Of({{"XDG_RUNTIME_DIR", dir_}, {"XDG_STATE_HOME", dir_}}), kAda);
  ASSERT_OK(endpoint);
  EXPECT_EQ(endpoint->path, live);
}

TEST_F(DiscoveryTest, NoneAtAllSaysWhereItLookedAndWhatToDo) {
  if (access("/run/hpc/coordinator.sock", F_OK) == 0) GTEST_SKIP() << "a coordinator runs here";
  ASSERT_OK(MakeDirs(dir_ + "/hpc"));
  Listen(dir_ + "/hpc/coordinator.sock");
  EXPECT_THAT(FindCoordinator("", Of({{"XDG_RUNTIME_DIR", dir_}, {"HOME", "/nowhere"}}), kAda),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(dir_ + "/hpc/coordinator.sock (nobody listens), "),
                             HasSubstr("/run/hpc/coordinator.sock (no such socket)"),
                             HasSubstr("HPC_COORDINATOR=unix:PATH"))));
}

TEST_F(DiscoveryTest, ABadAddressIsNamedWithItsSource) {
  EXPECT_THAT(FindCoordinator("pc1:port", Of({}), kAda),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("--coordinator: 'pc1:port'"), HasSubstr("unix:PATH"))));
  EXPECT_THAT(FindCoordinator("", Of({{"HPC_COORDINATOR", "unix:"}}), kAda),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HPC_COORDINATOR: 'unix:'")));
}

TEST_F(DiscoveryTest, WhatWasFoundAtASocketIsSaid) {
  Endpoint endpoint;
  endpoint.is_unix = true;
  endpoint.path = dir_ + "/s";
  EXPECT_THAT(UnreachableError(endpoint),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("unix:" + endpoint.path), HasSubstr("no such socket"))));
  Listen(endpoint.path);
  EXPECT_THAT(std::string(UnreachableError(endpoint).message()), HasSubstr("nobody listens"));
  unlink(endpoint.path.c_str());
  const UniqueFd listener = Listen(endpoint.path);
  EXPECT_THAT(std::string(UnreachableError(endpoint).message()), HasSubstr("does not answer"));
}

}  // namespace
}  // namespace hpc::client
