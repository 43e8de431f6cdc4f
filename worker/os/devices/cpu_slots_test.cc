#include "worker/os/devices/cpu_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hpc::worker
