#include "worker/os/host_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ParseMemTotal, IsInBytes) {
  EXPECT_EQ(ParseMemTotal("MemTotal:       24684084 kB\nMemFree:  1 kB\n"), 24684084LL * 1024);
}

TEST(ParseMemTotal, IsZeroWhereNotStated) {
  EXPECT_EQ(ParseMemTotal(""), 0);
  EXPECT_EQ(ParseMemTotal("MemTotal: much kB\n"), 0);
  EXPECT_EQ(ParseMemTotal("MemFree: 12 kB\n"), 0);
}

TEST(ParseOsName, IsThePrettyNameWithoutQuotes) {
  EXPECT_EQ(ParseOsName("NAME=\"Debian GNU/Linux\"\n"
                        "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(ParseOsName("PRETTY_NAME='Arch Linux'\n"), "Arch Linux");
}

TEST(ParseOsName, FallsBackToTheNameAndThenToTheKernel) {
  EXPECT_EQ(ParseOsName("NAME=Alpine\nPRETTY_NAME=\n"), "Alpine");
  EXPECT_EQ(ParseOsName(""), "Linux");
}

TEST(ParseCpuModel, IsTheFirstOne) {
  EXPECT_EQ(ParseCpuModel("processor\t: 0\nmodel\t\t: 33\n"
                          "model name\t: AMD Ryzen 7 5800X 8-Core Processor\n"
                          "processor\t: 1\nmodel name\t: another\n"),
            "AMD Ryzen 7 5800X 8-Core Processor");
}

TEST(ParseCpuModel, IsEmptyOnArm) {
  EXPECT_EQ(ParseCpuModel("processor\t: 0\nBogoMIPS\t: 108.00\nCPU part\t: 0xd0b\n"), "");
}

TEST(ParseMounts, UndoesOctalEscapes) {
  EXPECT_THAT(ParseMounts("/dev/sdb1 /media/my\\040disk\\134 ext4 rw 0 0\n"),
              ElementsAre(Mount{"/dev/sdb1", "/media/my disk\\", "ext4"}));
}

TEST(ParseMounts, LeavesAnythingElseBehindABackslashAlone) {
  EXPECT_THAT(ParseMounts("a /x\\9\\04 b\n/y\\ / c\nshort line\n"),
              ElementsAre(Mount{"a", "/x\\9\\04", "b"}, Mount{"/y\\", "/", "c"}));
}

TEST(SelectDisks, KeepsRealDisksOnly) {
  EXPECT_THAT(
      SelectDisks({{"proc", "/proc", "proc"},
                   {"/dev/nvme0n1p2", "/", "ext4"},
                   {"tmpfs", "/run", "tmpfs"},
                   {"nas:/films", "/films", "nfs4"},
                   {"/dev/loop3", "/snap/core/1", "squashfs"},
                   {"tank/home", "/home", "zfs"}},
                  "/var/lib/hpc"),
      ElementsAre(Mount{"/dev/nvme0n1p2", "/", "ext4"}, Mount{"tank/home", "/home", "zfs"}));
}

TEST(SelectDisks, CountsADeviceOnce) {
  EXPECT_THAT(SelectDisks({{"/dev/sda1", "/var/lib/docker/volumes", "ext4"},
                           {"/dev/sda1", "/data", "ext4"},
                           {"/dev/sda1", "/srv/nfs/data", "ext4"}},
                          "/data/hpc"),
              ElementsAre(Mount{"/dev/sda1", "/data", "ext4"}));
}

TEST(SelectDisks, AlwaysHasTheOneOfTheStateDirectory) {
  const std::vector<Mount> mounts = {
      {"overlay", "/", "overlay"}, {"tmpfs", "/run", "tmpfs"}, {"/dev/sda1", "/data", "ext4"}};
  EXPECT_THAT(SelectDisks(mounts, "/runner/hpc"),
              ElementsAre(Mount{"overlay", "/", "overlay"}, Mount{"/dev/sda1", "/data", "ext4"}));
  EXPECT_THAT(SelectDisks(mounts, "/run"),
              ElementsAre(Mount{"/dev/sda1", "/data", "ext4"}, Mount{"tmpfs", "/run", "tmpfs"}));
}

TEST(SelectDisks, TakesTheMountThatCoversAnother) {
  EXPECT_THAT(SelectDisks({{"tmpfs", "/s", "tmpfs"}, {"nas:/s", "/s", "nfs"}}, "/s/hpc"),
              ElementsAre(Mount{"nas:/s", "/s", "nfs"}));
}

TEST(SelectDisks, IsEmptyWithoutMounts) { EXPECT_THAT(SelectDisks({}, "/var"), IsEmpty()); }

}  // namespace
}  // namespace hpc::worker
