#include "worker/os/devices/side_thread.h"

#include <gtest/gtest.h>

#include <future>

namespace hpc::worker {
namespace {

using Clock = std::chrono::steady_clock;

// Bounds a wait that should end by itself. A test that passes never reaches it.
Clock::time_point FarAway() { return Clock::now() + std::chrono::minutes(1); }

TEST(SideThread, RunsOnePieceOfWorkAfterAnother) {
  SideThread thread;
  auto sum = std::make_shared<int>(0);
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(thread.Start([sum, i] { *sum += i; }));
    ASSERT_TRUE(thread.WaitUntil(FarAway()));
  }
  EXPECT_EQ(*sum, 6);
}

TEST(SideThread, HasReturnedBeforeAnythingWasStarted) {
  EXPECT_TRUE(SideThread().WaitUntil(Clock::now()));
}

TEST(SideThread, RefusesMoreWhileItHangsAndGoesOnAfterwards) {
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future();
  SideThread thread;
  ASSERT_TRUE(thread.Start([opened] { opened.wait(); }));
  EXPECT_FALSE(thread.WaitUntil(Clock::now()));
  EXPECT_FALSE(thread.Start([] {}));
  gate.set_value();
  EXPECT_TRUE(thread.WaitUntil(FarAway()));
  EXPECT_TRUE(thread.Start([] {}));
}

TEST(SideThread, LetsGoOfItsWorkOnceThatHasReturned) {
  SideThread thread;
  auto owned = std::make_shared<int>(0);
  ASSERT_TRUE(thread.Start([owned] {}));
  ASSERT_TRUE(thread.WaitUntil(FarAway()));
  EXPECT_EQ(owned.use_count(), 1);
}

TEST(SideThread, CanGoAwayWhileItsWorkHangs) {
  std::promise<void> gate;
  std::promise<void> returned;
  std::shared_future<void> opened = gate.get_future();
  {
    SideThread thread;
    ASSERT_TRUE(thread.Start([opened, &returned] {
      opened.wait();
      returned.set_value();
    }));
  }
  gate.set_value();
  returned.get_future().wait();
}

}  // namespace
}  // namespace hpc::worker
