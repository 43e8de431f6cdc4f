#include "worker/runtime/surroundings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "common/testing/at.h"

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::StatusIs;

class FakeMachine : public HostProbe, public DeviceProbe {
 public:
  protocol::Inventory Read() override { return info; }
  std::string BootId() override { return "boot"; }
  absl::Duration SuspendedTime() override { return suspended; }
  absl::StatusOr<std::string> SourceAddressFor(const std::string& peer) override {
    return "towards " + peer;
  }
  absl::StatusOr<std::string> InterfaceOf(const std::string&) override { return std::string("lo"); }
  std::vector<protocol::Device> Devices() override { return devices; }
  std::vector<DeviceUsage> Usage() override { return usage; }
  std::string DriverVersion() override { return ""; }

  protocol::Inventory info;
  absl::Duration suspended = absl::Hours(3);
  std::vector<protocol::Device> devices{{.kind = protocol::DeviceKind::kGpu}};
  std::vector<DeviceUsage> usage;
};

class SurroundingsTest : public ::testing::Test {
 protected:
  // Sends a heartbeat, and runs whatever it set in motion.
  void Heartbeat(double seconds) {
    surroundings_.Heartbeat(At(seconds), [this] { ++changes_; });
    bool done = false;
    background_.Run([] {}, [&] { done = true; });
    while (!done) loop_.RunOnce(absl::Seconds(1));
  }

  RealClock clock_;
  EventLoop loop_{&clock_};
  FakeMachine machine_;
  Background background_{&loop_};
  Surroundings surroundings_{&background_, &machine_, &machine_, {true, {"anna"}}};
  int changes_ = 0;
};

TEST_F(SurroundingsTest, KnowsTheInventoryFromTheBeginning) {
  EXPECT_THAT(surroundings_.inventory().devices, SizeIs(1));
  EXPECT_TRUE(surroundings_.inventory().can_wake_by_hook);
  EXPECT_THAT(surroundings_.inventory().owners, ElementsAre("anna"));
}

TEST_F(SurroundingsTest, TellsWhenThePcOffersSomethingElse) {
  Heartbeat(0);
  EXPECT_EQ(changes_, 0);
  machine_.devices.push_back({.index = 1, .kind = protocol::DeviceKind::kGpu});
  Heartbeat(30);
  EXPECT_EQ(changes_, 0);
  Heartbeat(60);
  EXPECT_EQ(changes_, 1);
  EXPECT_THAT(surroundings_.inventory().devices, SizeIs(2));
}

TEST_F(SurroundingsTest, FreeDiskSpaceAloneIsNoNews) {
  machine_.info.disks = {{"/", 100, 50}};
  Heartbeat(0);
  changes_ = 0;
  machine_.info.disks[0].free_bytes = 10;
  Heartbeat(60);
  EXPECT_EQ(changes_, 0);
  EXPECT_EQ(surroundings_.inventory().disks[0].free_bytes, 10);
}

TEST_F(SurroundingsTest, ReadsUsageEveryTenSecondsAndTellsItOnce) {
  machine_.usage = {{.index = 0, .utilisation_percent = 80}};
  Heartbeat(0);
  Heartbeat(2);
  EXPECT_THAT(surroundings_.TakeUsage(), SizeIs(1));
  EXPECT_THAT(surroundings_.TakeUsage(), IsEmpty());
  machine_.usage[0].utilisation_percent = 10;
  Heartbeat(4);
  EXPECT_THAT(surroundings_.TakeUsage(), IsEmpty());
  Heartbeat(12);
  EXPECT_EQ(surroundings_.TakeUsage()[0].utilisation_percent, 10);
}

TEST_F(SurroundingsTest, UsageThatDidNotChangeIsNotTold) {
  machine_.usage = {{.index = 0, .utilisation_percent = 80}};
  Heartbeat(0);
  Heartbeat(2);
  surroundings_.TakeUsage();
  Heartbeat(12);
  EXPECT_THAT(surroundings_.TakeUsage(), IsEmpty());
}

TEST_F(SurroundingsTest, WithoutAGpuThereIsNoUsageToRead) {
  machine_.devices = {{.kind = protocol::DeviceKind::kCpuSlot}};
  machine_.usage = {{.index = 0}};
  Heartbeat(0);
  Heartbeat(2);
  EXPECT_THAT(surroundings_.TakeUsage(), IsEmpty());
}

TEST_F(SurroundingsTest, NoticesASleepOnce) {
  machine_.suspended += absl::Milliseconds(900);
  EXPECT_EQ(surroundings_.TakeSuspended(), absl::ZeroDuration());
  machine_.suspended += absl::Hours(8);
  EXPECT_EQ(surroundings_.TakeSuspended(), absl::Hours(8) + absl::Milliseconds(900));
  EXPECT_EQ(surroundings_.TakeSuspended(), absl::ZeroDuration());
}

TEST(FindOwnAddressTest, IsTheOneThatLeavesTowardsTheCoordinator) {
  FakeMachine machine;
  EXPECT_EQ(*FindOwnAddress({.host = "10.0.0.1", .port = 1}, &machine), "towards 10.0.0.1");
  EXPECT_EQ(*FindOwnAddress({.is_unix = true, .path = "/x"}, &machine), "127.0.0.1");
}

TEST(FindOwnAddressTest, AnUnknownNameIsNamed) {
  FakeMachine machine;
  EXPECT_THAT(FindOwnAddress({.host = "no-such-host.invalid", .port = 1}, &machine),
              StatusIs(absl::StatusCode::kUnavailable,
                       ::testing::HasSubstr("'no-such-host.invalid' has no address")));
}

}  // namespace
}  // namespace hpc::worker
