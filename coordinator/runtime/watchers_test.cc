#include "coordinator/runtime/watchers.h"

#include <gtest/gtest.h>

#include <functional>

namespace hpc::coordinator {
namespace {

class CallingWatcher final : public Watcher {
 public:
  void Poke() override {
    ++pokes;
    if (on_poke) on_poke();
  }
  void PokeProgress() override { ++progress_pokes; }
  std::function<void()> on_poke;
  int pokes = 0;
  int progress_pokes = 0;
};

TEST(Watchers, OnlyThoseOfTheRunArePoked) {
  Watchers watchers;
  CallingWatcher one, two, events;
  watchers.WatchRun(1, &one);
  watchers.WatchRun(2, &two);
  watchers.WatchEvents(&events);
  watchers.PokeRun(1);
  EXPECT_EQ(one.pokes, 1);
  EXPECT_EQ(two.pokes, 0);
  EXPECT_EQ(events.pokes, 0);
  watchers.PokeEvents();
  EXPECT_EQ(events.pokes, 1);
  watchers.PokeProgress();
  EXPECT_EQ(one.progress_pokes + two.progress_pokes, 2);
  EXPECT_EQ(events.progress_pokes, 0);
}

TEST(Watchers, OneMayLeaveAndTakeAnotherWithItWhileItIsPoked) {
  Watchers watchers;
  CallingWatcher one, two;
  const auto leave = [&] {
    watchers.Unwatch(&one);
    watchers.Unwatch(&two);
  };
  one.on_poke = two.on_poke = leave;
  watchers.WatchRun(1, &one);
  watchers.WatchRun(1, &two);
  watchers.PokeRun(1);
  EXPECT_EQ(one.pokes + two.pokes, 1);
  EXPECT_FALSE(watchers.follow_runs());
}

}  // namespace
}  // namespace hpc::coordinator
