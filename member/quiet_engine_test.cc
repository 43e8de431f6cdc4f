#include "member/quiet_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/synchronization/notification.h"

namespace hpc::member {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using testing::ElementsAre;

int Threads() {
  int count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/task")) {
    ++count;
  }
  return count;
}

// Returns once all that is due before it has been done.
void Await(grpc_event_engine::experimental::EventEngine* engine, milliseconds when) {
  absl::Notification done;
  engine->RunAfter(when, [&done] { done.Notify(); });
  done.WaitForNotification();
}

TEST(QuietEngineTest, StartsNoThreadBeforeThereIsSomethingToDoAndOneForAll) {
  const int before = Threads();
  const auto engine = MakeQuietEngine();
  EXPECT_EQ(Threads(), before);
  engine->RunAfter(hours(1), [] {});
  engine->RunAfter(hours(2), [] {});
  EXPECT_EQ(Threads(), before + 1);
}

TEST(QuietEngineTest, DoesThingsInTheOrderOfTheirTimesAndOnItsOwnThread) {
  const auto engine = MakeQuietEngine();
  std::vector<int> done;
  std::vector<bool> own;
  const auto note = [&](int number) {
    done.push_back(number);
    own.push_back(engine->IsWorkerThread());
  };
  // Held up until all are there.
  absl::Notification open;
  engine->Run([&open] { open.WaitForNotification(); });
  engine->RunAfter(milliseconds(3), [&] { note(3); });
  engine->RunAfter(milliseconds(2), [&] { note(2); });
  engine->Run([&] { note(1); });
  open.Notify();
  Await(engine.get(), milliseconds(4));
  EXPECT_THAT(done, ElementsAre(1, 2, 3));
  EXPECT_THAT(own, ElementsAre(true, true, true));
  EXPECT_FALSE(engine->IsWorkerThread());
}

TEST(QuietEngineTest, WhatIsDueSoonerIsNotHeldUpByWhatIsWaitedFor) {
  const auto engine = MakeQuietEngine();
  engine->RunAfter(hours(1), [] { FAIL(); });
  Await(engine.get(), milliseconds(0));
}

TEST(QuietEngineTest, WhatIsCancelledIsNotDoneAndLetGo) {
  const auto engine = MakeQuietEngine();
  const auto held = std::make_shared<int>(0);
  const auto handle = engine->RunAfter(hours(1), [held] { FAIL(); });
  EXPECT_EQ(held.use_count(), 2);
  EXPECT_TRUE(engine->Cancel(handle));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_FALSE(engine->Cancel(handle));
}

TEST(QuietEngineTest, WhatIsDoneCannotBeCancelled) {
  const auto engine = MakeQuietEngine();
  const auto handle = engine->RunAfter(milliseconds(0), [] {});
  Await(engine.get(), milliseconds(0));
  EXPECT_FALSE(engine->Cancel(handle));
}

TEST(QuietEngineTest, WhatItDoesMayGiveItMoreToDo) {
  const auto engine = MakeQuietEngine();
  absl::Notification done;
  engine->Run([&] { engine->Run([&] { done.Notify(); }); });
  done.WaitForNotification();
}

TEST(QuietEngineTest, WhatItDoesMayBeTheLastToLetItGo) {
  std::shared_ptr<grpc_event_engine::experimental::EventEngine> engine = MakeQuietEngine();
  absl::Notification gone;
  absl::Notification alone;
  engine->Run([&gone, &alone, last = engine]() mutable {
    alone.WaitForNotification();
    last.reset();
    gone.Notify();
  });
  engine.reset();
  alone.Notify();
  gone.WaitForNotification();
}

}  // namespace
}  // namespace hpc::member
