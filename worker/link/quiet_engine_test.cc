#include "worker/link/quiet_engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <vector>

namespace hpc::worker {
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

// Returns once everything that is due before `when` has been done.
void Await(grpc_event_engine::experimental::EventEngine* engine, milliseconds when) {
  std::promise<void> done;
  engine->RunAfter(when, [&done] { done.set_value(); });
  done.get_future().wait();
}

TEST(QuietEngineTest, StartsNoThreadBeforeThereIsSomethingToDoAndOneForAll) {
  const int before = Threads();
  const auto engine = MakeQuietEngine();
  EXPECT_EQ(Threads(), before);
  engine->RunAfter(hours(1), [] {});
  const int with_its_own = Threads();  // includes a sanitizer's thread, if there is one
  EXPECT_GT(with_its_own, before);
  engine->RunAfter(hours(2), [] {});
  EXPECT_EQ(Threads(), with_its_own);
}

TEST(QuietEngineTest, DoesThingsInTheOrderOfTheirTimesAndOnItsOwnThread) {
  const auto engine = MakeQuietEngine();
  std::vector<int> done;
  std::vector<bool> own;
  const auto note = [&](int number) {
    done.push_back(number);
    own.push_back(engine->IsWorkerThread());
  };
  // The first piece of work blocks until all the others are there.
  std::promise<void> open;
  engine->Run([&open] { open.get_future().wait(); });
  engine->RunAfter(milliseconds(3), [&] { note(3); });
  engine->RunAfter(milliseconds(2), [&] { note(2); });
  engine->Run([&] { note(1); });
  open.set_value();
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
  std::promise<void> done;
  engine->Run([&] { engine->Run([&] { done.set_value(); }); });
  done.get_future().wait();
}

TEST(QuietEngineTest, WhatItDoesMayBeTheLastToLetItGo) {
  std::shared_ptr<grpc_event_engine::experimental::EventEngine> engine = MakeQuietEngine();
  std::promise<void> gone;
  std::promise<void> alone;
  engine->Run([&gone, &alone, last = engine]() mutable {
    alone.get_future().wait();
    last.reset();
    gone.set_value();
  });
  engine.reset();
  alone.set_value();
  gone.get_future().wait();
}

}  // namespace
}  // namespace hpc::worker
