#include "common/files/coordinator_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace hpc {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

Environment Of(std::map<std::string, std::string> values) {
  return [values](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

TEST(CoordinatorPathsTest, RootsAreTheSystems) {
  const Environment session = Of({{"XDG_RUNTIME_DIR", "/run/user/0"}, {"HOME", "/root"}});
  const CoordinatorPaths paths = DefaultCoordinatorPaths(0, session);
  EXPECT_EQ(paths.state_dir, "/var/lib/hpc/coordinator");
  EXPECT_EQ(paths.socket, "/run/hpc/coordinator.sock");
  EXPECT_THAT(CoordinatorSockets(0, session), ElementsAre(paths.socket));
}

TEST(CoordinatorPathsTest, AUsersAreTheirOwn) {
  const Environment session = Of({{"XDG_RUNTIME_DIR", "/run/user/1000"}, {"HOME", "/home/ada"}});
  const CoordinatorPaths paths = DefaultCoordinatorPaths(1000, session);
  EXPECT_EQ(paths.state_dir, "/home/ada/.local/state/hpc/coordinator");
  EXPECT_EQ(paths.socket, "/run/user/1000/hpc/coordinator.sock");
  EXPECT_THAT(CoordinatorSockets(1000, session),
              ElementsAre(paths.socket, "/home/ada/.local/state/hpc/coordinator/coordinator.sock",
                          "/run/hpc/coordinator.sock"));
  EXPECT_EQ(DefaultCoordinatorPaths(1000, Of({{"XDG_STATE_HOME", "/s"}})).state_dir,
            "/s/hpc/coordinator");
}

TEST(CoordinatorPathsTest, TheyMeetWhereOnlyOneOfTwoIsInASession) {
  const Environment session = Of({{"XDG_RUNTIME_DIR", "/run/user/1000"}, {"HOME", "/home/ada"}});
  const Environment cron = Of({{"HOME", "/home/ada"}});
  for (const Environment& daemon : {session, cron}) {
    for (const Environment& client : {session, cron}) {
      EXPECT_THAT(CoordinatorSockets(1000, client),
                  Contains(DefaultCoordinatorPaths(1000, daemon).socket));
    }
  }
}

}  // namespace
}  // namespace hpc
