// A long queue must not make anything in front of it or behind it expensive. Times are printed but
// not judged, since machines differ. What is judged is how much is written and how often the core
// wakes up.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>

#include "coordinator/core/cluster.h"
#include "coordinator/core/testing/cluster_tester.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator::testing {
namespace {

constexpr int kQueued = 10'000;

class ScaleTest : public ::testing::Test {
 protected:
  ScaleTest()
      : cluster_(
            {}, {}, clock_.Get(), [](void*, RunId) { return std::optional<RunState>(); }, nullptr) {
    for (const char* name : {"pc1", "pc2", "pc3", "pc4"}) {
      EXPECT_TRUE(cluster_.Hello(clock_.Get(), HelloOf(name), &effects_).ok());
    }
  }

  // Submits and ticks, as the shell does for a batch of one. Returns how much became durable.
  size_t Submit(const RunRequest& request) {
    effects_ = {};
    EXPECT_TRUE(cluster_.Submit(clock_.Get(), request, &effects_).ok());
    cluster_.Tick(clock_.Get(), &effects_);
    return effects_.changes.size();
  }

  // Microseconds per call over `n` calls.
  template <typename F>
  double Time(const char* what, int n, F f) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < n; ++i) f(i);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    std::cout << what << ": " << took.count() / n << " us\n";
    return took.count() / n;
  }

  FakeClock clock_;
  Effects effects_;
  Cluster cluster_;
};

TEST_F(ScaleTest, SubmissionBehindALongQueueCostsWhatItCostsBehindNone) {
  Submit(Nodes(4));
  const RunRequest request = Nodes(1);
  const size_t first = Submit(request);
  Time("submit, queue growing to 10,000", kQueued, [&](int) { Submit(request); });
  EXPECT_EQ(Submit(request), first) << "as much is written as at the beginning";
  Time("submit, queue growing from 10,000", 1000, [&](int) { Submit(request); });
  RunWait wait;
  Time("why one of them waits", 1000,
       [&](int i) { wait = cluster_.Waiting(clock_.Get(), 5000 + i); });
  EXPECT_EQ(wait.queue_position, 5998);
  EXPECT_EQ(wait.text, "5998th in the queue, behind run 2 which needs 1 node");
}

TEST_F(ScaleTest, RunningClusterWithALongQueueWakesUpForLeasesOnly) {
  Submit(Nodes(4));
  for (int i = 0; i < kQueued; ++i) Submit(Nodes(1));
  int ticks = 0;
  const MonoTime end = clock_.Get().mono + absl::Seconds(60);
  while (true) {
    const MonoTime next = cluster_.NextDeadline();
    if (next > end) break;
    clock_.Advance(next - clock_.Get().mono);
    for (const char* name : {"pc1", "pc2", "pc3", "pc4"}) {
      EXPECT_TRUE(cluster_.Heard(clock_.Get(), {name, 1}).ok());
    }
    effects_ = {};
    cluster_.Tick(clock_.Get(), &effects_);
    ++ticks;
  }
  EXPECT_LE(ticks, 4 * 60 / 6 + 4);
}

TEST_F(ScaleTest, BlockedHeadInFrontOfALongQueue) {
  RunRequest one = Nodes(1);
  one.node_list = {"pc1"};
  Submit(one);
  Submit(Nodes(4));
  Time("submit behind a head that holds three free nodes", kQueued, [&](int) { Submit(Nodes(1)); });
  EXPECT_EQ(cluster_.GetTotals().queued, kQueued + 1);
}

}  // namespace
}  // namespace hpc::coordinator::testing
