#include "worker/rendezvous/waiters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::worker::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kAnn = 100;
constexpr uint64_t kBob = 200;

TEST(WaitersTest, AWaitEndsWithItsLastKey) {
  Waiters waiters;
  const uint64_t id = waiters.Add(kAnn, {"a", "b"});
  EXPECT_THAT(waiters.Came("a"), IsEmpty());
  EXPECT_THAT(waiters.Came("a"), IsEmpty());
  EXPECT_THAT(waiters.Came("b"), ElementsAre(Waiters::Wait{id, kAnn}));
  EXPECT_EQ(waiters.size(), 0u);
}

TEST(WaitersTest, AKeyNamedTwiceIsAwaitedOnce) {
  Waiters waiters;
  const uint64_t id = waiters.Add(kAnn, {"a", "a"});
  EXPECT_THAT(waiters.Came("a"), ElementsAre(Waiters::Wait{id, kAnn}));
}

TEST(WaitersTest, AKeyEndsAllItsWaitsOldestFirst) {
  Waiters waiters;
  const uint64_t first = waiters.Add(kBob, {"a"});
  const uint64_t second = waiters.Add(kAnn, {"a"});
  waiters.Add(kAnn, {"b"});
  EXPECT_THAT(waiters.Came("a"),
              ElementsAre(Waiters::Wait{first, kBob}, Waiters::Wait{second, kAnn}));
}

TEST(WaitersTest, WhatOnlyOneCanHaveEndsOneWait) {
  Waiters waiters;
  const uint64_t incomplete = waiters.Add(kAnn, {"q", "other"});
  const uint64_t first = waiters.Add(kAnn, {"q"});
  const uint64_t second = waiters.Add(kBob, {"q"});
  EXPECT_THAT(waiters.CameForOne("q"), ElementsAre(Waiters::Wait{first, kAnn}));
  EXPECT_THAT(waiters.CameForOne("q"), ElementsAre(Waiters::Wait{second, kBob}));
  EXPECT_THAT(waiters.CameForOne("q"), IsEmpty());
  EXPECT_THAT(waiters.Came("other"), ElementsAre(Waiters::Wait{incomplete, kAnn}));
}

TEST(WaitersTest, ACancelledWaitNeverEnds) {
  Waiters waiters;
  const uint64_t cancelled = waiters.Add(kAnn, {"a", "b"});
  const uint64_t other = waiters.Add(kBob, {"a"});
  waiters.Cancel(cancelled);
  waiters.Cancel(cancelled);
  EXPECT_THAT(waiters.Came("a"), ElementsAre(Waiters::Wait{other, kBob}));
  EXPECT_THAT(waiters.Came("b"), IsEmpty());
  EXPECT_EQ(waiters.size(), 0u);
}

TEST(WaitersTest, NamesTheKeyThatMostLack) {
  Waiters waiters;
  EXPECT_EQ(waiters.MostAwaitedKey(), "");
  waiters.Add(kAnn, {"x"});
  waiters.Add(kAnn, {"c"});
  const uint64_t last = waiters.Add(kBob, {"c"});
  EXPECT_EQ(waiters.MostAwaitedKey(), "c");
  // Each wait lacks a different key now, so the one waited for longest counts.
  waiters.Cancel(last);
  EXPECT_EQ(waiters.MostAwaitedKey(), "x");
}

}  // namespace
}  // namespace hpc::worker::store
