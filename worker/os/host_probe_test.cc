#include "worker/os/host_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/status_matchers.h"

namespace hpc::worker {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::Not;

void WriteUnder(const std::string& root, const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
  std::ofstream(root + path) << text;
}

TEST(HostProbe, ReadsAnotherMachinesFiles) {
  const std::string root = ::testing::TempDir() + "/host_root";
  WriteUnder(root, "/proc/meminfo", "MemTotal: 1024 kB\n");
  WriteUnder(root, "/proc/self/mounts", "none / overlay rw 0 0\nnone /nowhere ext4 rw 0 0\n");
  WriteUnder(root, "/etc/os-release", "PRETTY_NAME=\"Plan 9\"\n");
  WriteUnder(root, "/proc/sys/kernel/random/boot_id", "6f2b1c1e\n");
  const auto probe = MakeHostProbe({.state_dir = "/", .root = root});
  const protocol::Inventory info = probe->Read();
  EXPECT_EQ(info.memory_bytes, 1024 * 1024);
  EXPECT_EQ(info.os, "Plan 9");
  EXPECT_EQ(probe->BootId(), "6f2b1c1e");
  // The machine that runs this cannot measure /nowhere.
  EXPECT_THAT(info.disks, ElementsAre(Field(&protocol::Disk::mount, "/")));
}

TEST(HostProbe, LeavesGapsWhereNothingCanBeRead) {
  const auto probe = MakeHostProbe({.state_dir = "/", .root = "/nonexistent"});
  const protocol::Inventory info = probe->Read();
  EXPECT_EQ(info.memory_bytes, 0);
  EXPECT_THAT(info.disks, IsEmpty());
  EXPECT_EQ(probe->BootId(), "");
  EXPECT_EQ(info.os, "Linux");
}

TEST(HostProbe, DescribesTheMachineItRunsOn) {
  const auto probe = MakeHostProbe({.state_dir = ::testing::TempDir()});
  const protocol::Inventory info = probe->Read();
  EXPECT_GT(info.cores, 0);
  EXPECT_GT(info.memory_bytes, 0);
  ASSERT_THAT(info.disks, Not(IsEmpty()));
  EXPECT_THAT(info.disks.front().total_bytes, Gt(info.disks.front().free_bytes));
  EXPECT_THAT(info.interfaces, Not(IsEmpty()));
  EXPECT_NE(info.hostname, "");
  EXPECT_NE(info.kernel, "");
  EXPECT_EQ(probe->BootId().size(), 36u);
}

TEST(HostProbe, CountsOnlyTheCoresItMayUse) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(MakeHostProbe({.state_dir = "/"})->Read().cores, 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

TEST(HostProbe, FollowsTheLinksOfTheStateDirectory) {
  const std::string root = ::testing::TempDir() + "/link_root";
  WriteUnder(root, "/proc/self/mounts", "proc /proc proc rw 0 0\n");
  const std::string link = ::testing::TempDir() + "/link_to_proc";
  std::filesystem::remove(link);
  std::filesystem::create_directory_symlink("/proc", link);
  EXPECT_THAT(MakeHostProbe({.state_dir = link, .root = root})->Read().disks,
              ElementsAre(Field(&protocol::Disk::mount, "/proc")));
}

TEST(HostProbe, SuspendedTimeNeverShrinks) {
  auto probe = MakeHostProbe({.state_dir = "/"});
  const absl::Duration first = probe->SuspendedTime();
  // The two clocks are read one after the other, so a reading is only that exact.
  EXPECT_GT(first, -absl::Seconds(1));
  EXPECT_GT(probe->SuspendedTime(), first - absl::Seconds(1));
}

TEST(HostProbe, KnowsWhereTrafficLeaves) {
  auto probe = MakeHostProbe({.state_dir = "/"});
  EXPECT_EQ(probe->SourceAddressFor("127.0.0.1").value(), "127.0.0.1");
  EXPECT_EQ(probe->InterfaceOf("127.0.0.11").value(), "lo");
  EXPECT_THAT(probe->InterfaceOf("192.0.2.1"), StatusIs(absl::StatusCode::kNotFound, ::testing::_));
}

}  // namespace
}  // namespace hpc::worker
