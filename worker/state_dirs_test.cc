#include "worker/state_dirs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Dirs(uid_t user, const std::map<std::string, std::string>& variables) {
  return DefaultStateDirs(user, [&](const char* name) -> const char* {
    const auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

TEST(StateDirsTest, RootsIsTheSystems) {
  EXPECT_THAT(Dirs(0, {{"HOME", "/root"}}), ElementsAre("/var/lib/hpc-worker"));
}

TEST(StateDirsTest, AUsersOwnComesFirst) {
  EXPECT_THAT(Dirs(1000, {{"HOME", "/home/ada"}}),
              ElementsAre("/home/ada/.local/state/hpc/worker", "/var/lib/hpc-worker"));
  EXPECT_THAT(Dirs(1000, {{"HOME", "/home/ada"}, {"XDG_STATE_HOME", "/s"}}),
              ElementsAre("/s/hpc/worker", "/var/lib/hpc-worker"));
  EXPECT_THAT(Dirs(1000, {}), ElementsAre("/var/lib/hpc-worker"));
}

}  // namespace
}  // namespace hpc::worker
