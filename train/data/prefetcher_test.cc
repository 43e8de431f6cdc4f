#include "train/data/prefetcher.h"

#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>

#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using std::chrono::nanoseconds;

TEST(Prefetcher, HandsOutEverythingInItsOrder) {
  for (int workers : {0, 1, 4}) {
    Prefetcher<int> prefetcher(200, [](int64_t i) { return static_cast<int>(i); },
                               {.workers = workers, .ahead = 3});
    for (int i = 0; i < 200; ++i) ASSERT_EQ(prefetcher.Next(), i);
    EXPECT_EQ(prefetcher.Next(), std::nullopt);
    EXPECT_EQ(prefetcher.Next(), std::nullopt);
  }
}

TEST(Prefetcher, IsAheadByAsManyAsItMayAndNoMore) {
  std::atomic<int64_t> latest{-1};
  std::mutex mutex;
  std::condition_variable changed;
  Prefetcher<int> prefetcher(100,
                             [&](int64_t i) {
                               std::lock_guard lock(mutex);
                               latest = std::max<int64_t>(latest, i);
                               changed.notify_all();
                               return 0;
                             },
                             {.workers = 2, .ahead = 5});
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return latest == 4; });  // before anybody has asked for one
  }
  for (int64_t given = 1; given <= 10; ++given) {
    prefetcher.Next();
    std::lock_guard lock(mutex);
    EXPECT_LT(latest, given + 5);
  }
}

TEST(Prefetcher, AnErrorComesInThePlaceOfItsThing) {
  for (int workers : {0, 2}) {
    Prefetcher<int> prefetcher(4,
                               [](int64_t i) {
                                 if (i == 2) throw std::runtime_error("thing 2 is broken");
                                 return static_cast<int>(i);
                               },
                               {.workers = workers});
    EXPECT_EQ(prefetcher.Next(), 0);
    EXPECT_EQ(prefetcher.Next(), 1);
    try {
      prefetcher.Next();
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "thing 2 is broken");
    }
    EXPECT_EQ(prefetcher.Next(), 3);
  }
}

TEST(Prefetcher, MeasuresHowLongItWasWaitedFor) {
  nanoseconds now{0};
  Prefetcher<int> prefetcher(2,
                             [&](int64_t) {
                               now += nanoseconds(70);
                               return 0;
                             },
                             {.workers = 0, .now = [&] { return now; }});
  prefetcher.Next();
  now += nanoseconds(1000);  // the caller computes for this time
  prefetcher.Next();
  EXPECT_EQ(prefetcher.waited(), nanoseconds(140));
}

TEST(Prefetcher, MayBeDroppedAtAnyTime) {
  for (int taken = 0; taken < 4; ++taken) {
    Prefetcher<int> prefetcher(1000, [](int64_t i) { return static_cast<int>(i); }, {.workers = 3});
    for (int i = 0; i < taken; ++i) prefetcher.Next();
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
TEST(Prefetcher, ASystemWithoutMoreThreadsIsAnErrorAndNoEnd) {
  const auto ask_for_many = [] {
    const rlimit little = {300 << 20, 300 << 20};  // each thread has a stack of 8 MiB
    setrlimit(RLIMIT_AS, &little);
    try {
      Prefetcher<int> prefetcher(1000, [](int64_t) { return 1; }, {.workers = 1000});
    } catch (const std::runtime_error& error) {
      std::cerr << error.what();
      std::exit(7);
    }
    std::exit(0);
  };
  EXPECT_EXIT(ask_for_many(), ::testing::ExitedWithCode(7),
              "of 1000 threads that load data could be made .*: take fewer \\(--workers\\)");
}
#endif

}  // namespace
}  // namespace hpc::train
