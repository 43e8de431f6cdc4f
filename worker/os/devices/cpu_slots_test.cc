#include "worker/os/devices/cpu_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "worker/os/devices/device_probe.h"
#include "worker/testing/temp_dir.h"

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CpuSlots, AreNumberedFromZeroAndCarryTheProcessorsName) {
  CpuSlots slots(2, "AMD Ryzen 7 5800X");
  EXPECT_THAT(slots.Devices(), ElementsAre(protocol::Device{.index = 0,
                                                            .kind = protocol::DeviceKind::kCpuSlot,
                                                            .name = "AMD Ryzen 7 5800X"},
                                           protocol::Device{.index = 1,
                                                            .kind = protocol::DeviceKind::kCpuSlot,
                                                            .name = "AMD Ryzen 7 5800X"}));
}

TEST(CpuSlots, HaveANameEvenWhereTheProcessorHasNone) {
  EXPECT_EQ(CpuSlots(1, "").Devices().at(0).name, "CPU");
}

TEST(CpuSlots, MayBeNone) { EXPECT_THAT(CpuSlots(0, "x").Devices(), IsEmpty()); }

TEST(CpuSlots, ClaimNoUsageAndNoDriver) {
  CpuSlots slots(3, "x");
  EXPECT_THAT(slots.Usage(), IsEmpty());
  EXPECT_EQ(slots.DriverVersion(), "");
}

TEST(CpuSlots, MayStandForGpusThatCannotBeUsed) {
  EXPECT_EQ(CpuSlots(1, "x").GpuTrouble(), "");
  EXPECT_EQ(CpuSlots(1, "x", "mismatch").GpuTrouble(), "mismatch");
}

TEST(NvidiaGpu, IsADisplayControllerOfThatVendor) {
  const hpc::testing::TempDir root;
  const auto lists = [&](const std::string& vendor, const std::string& kind) {
    const std::string dir = root.path() + "/sys/bus/pci/devices/0000:01:00.0";
    std::filesystem::create_directories(dir);
    std::ofstream(dir + "/vendor") << vendor << "\n";
    std::ofstream(dir + "/class") << kind << "\n";
    return ListsNvidiaGpu(root.path());
  };
  EXPECT_FALSE(ListsNvidiaGpu(root.path()));
  EXPECT_TRUE(lists("0x10de", "0x030000"));
  EXPECT_TRUE(lists("0x10de", "0x030200")) << "a GPU without a screen";
  EXPECT_FALSE(lists("0x10de", "0x040300")) << "its sound";
  EXPECT_FALSE(lists("0x8086", "0x030000"));
}

}  // namespace
}  // namespace hpc::worker
