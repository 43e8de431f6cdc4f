#include "worker/supervisor/os/cgroup_name.h"

#include <gtest/gtest.h>

namespace hpc::worker {
namespace {

TEST(CgroupNameTest, NamesTheAttemptItsFolderAndItsMaker) {
  EXPECT_EQ(AttemptCgroupName("12.2", "/a", "4711"), "hpc-12.2-70d2182d-4711");
  EXPECT_EQ(ScopeUnitName("12.2", "/a", 4711), "hpc-12.2-70d2182d-4711.scope");
}

TEST(CgroupNameTest, TheAttemptIsReadBack) {
  EXPECT_EQ(AttemptOfCgroup("hpc-12.2-70d2182d-of-17"), "12.2");
  EXPECT_EQ(AttemptOfCgroup("hpc-12.2-70d2182d-4711.scope"), "12.2");
}

TEST(CgroupNameTest, OtherNamesAreNone) {
  for (const char* name : {"", "hpc-", "hpc.slice", "hpc-12.2-4711", "hpc-12.2-70d2182d",
                           "hpc-12.2-70d2182d4711-1", "hpd-12.2-70d2182d-1"}) {
    EXPECT_EQ(AttemptOfCgroup(name), std::nullopt) << name;
  }
}

TEST(CgroupNameTest, AnotherWorkersAttemptOfThatNumberIsAnother) {
  const std::string name = AttemptCgroupName("12.2", "/a", "4711");
  EXPECT_TRUE(IsCgroupOf(name, "12.2", "/a"));
  EXPECT_FALSE(IsCgroupOf(name, "12.2", "/b"));
  EXPECT_FALSE(IsCgroupOf(name, "12.3", "/a"));
}

}  // namespace
}  // namespace hpc::worker
