#include "worker/loop/background.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "common/clock.h"

namespace hpc::worker {
namespace {

using ::testing::ElementsAre;

class BackgroundTest : public ::testing::Test {
 protected:
  void RunUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 1000 && !done(); ++i) loop_.RunOnce(absl::Milliseconds(20));
    ASSERT_TRUE(done());
  }
  RealClock clock_;
  EventLoop loop_{&clock_};
};

TEST_F(BackgroundTest, WorksElsewhereAndAnswersOnTheLoop) {
  Background background(&loop_);
  std::thread::id worked, answered;
  background.Run([&] { worked = std::this_thread::get_id(); },
                 [&] { answered = std::this_thread::get_id(); });
  RunUntil([&] { return answered != std::thread::id(); });
  EXPECT_NE(worked, std::this_thread::get_id());
  EXPECT_EQ(answered, std::this_thread::get_id());
}

TEST_F(BackgroundTest, KeepsTheOrder) {
  Background background(&loop_);
  std::vector<int> results;
  for (int i = 0; i < 4; ++i) {
    background.Ask<int>([i] { return i; }, [&](int result) { results.push_back(result); });
  }
  RunUntil([&] { return results.size() == 4; });
  EXPECT_THAT(results, ElementsAre(0, 1, 2, 3));
}

TEST_F(BackgroundTest, AnswersNobodyOnceItIsGone) {
  bool answered = false;
  {
    Background background(&loop_);
    std::atomic<bool> worked = false;
    background.Run([&] { worked = true; }, [&] { answered = true; });
    while (!worked) std::this_thread::yield();
  }
  loop_.RunOnce(absl::ZeroDuration());
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace hpc::worker
