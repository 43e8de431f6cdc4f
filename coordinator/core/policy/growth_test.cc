// Growth decisions: values in, a decision with its reason out.
#include "coordinator/core/policy/growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/testing/at.h"

namespace hpc::coordinator {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class GrowthTest : public ::testing::Test {
 protected:
  // At second 100 the gang runs on two nodes, and a third node is there and steady.
  GrowthTest() {
    input.mode = GrowMode::kNow;
    input.grow_steady = absl::Seconds(30);
    input.now = At(100);
    input.gang_steady_at = At(50);
    input.nodes = 2;
    input.fresh = {{"pc3", At(90)}};
  }
  GrowthInput input;
};

TEST_F(GrowthTest, NowIsAtOnce) {
  const GrowthDecision decision = DecideGrowth(input);
  EXPECT_TRUE(decision.grow);
  EXPECT_EQ(decision.words, "grows from 2 to 3 nodes with pc3");
}

TEST_F(GrowthTest, NeverIsNever) {
  input.mode = GrowMode::kNever;
  input.at_checkpoint = true;
  const GrowthDecision decision = DecideGrowth(input);
  EXPECT_FALSE(decision.grow);
  EXPECT_EQ(decision.again, MonoTime::Infinite());
  EXPECT_EQ(decision.words,
            "would grow from 2 to 3 nodes with pc3 if it were started again, and is not for that: "
            "--grow never");
}

TEST_F(GrowthTest, AtACheckpointAndNotBefore) {
  input.mode = GrowMode::kCheckpoint;
  GrowthDecision decision = DecideGrowth(input);
  EXPECT_FALSE(decision.grow);
  EXPECT_EQ(decision.again, MonoTime::Infinite());
  EXPECT_EQ(decision.words,
            "grows from 2 to 3 nodes with pc3 at the next checkpoint that it tells of");
  input.at_checkpoint = true;
  decision = DecideGrowth(input);
  EXPECT_TRUE(decision.grow);
  EXPECT_EQ(decision.words, "grows from 2 to 3 nodes with pc3, at a checkpoint");
}

TEST_F(GrowthTest, WaitsUntilEveryNewNodeIsSteady) {
  input.fresh.push_back({"pc4", At(112)});
  input.at_checkpoint = true;
  const GrowthDecision decision = DecideGrowth(input);
  EXPECT_FALSE(decision.grow);
  EXPECT_EQ(decision.again, At(112));
  EXPECT_EQ(decision.words,
            "may grow from 2 to 4 nodes with pc3 and pc4, if pc4 stays: it must have been "
            "there and free for 30 s");
  EXPECT_THAT(GrowthWords(decision.words, decision.again, At(103)),
              EndsWith("free for 30 s (9 s from now)"));
  EXPECT_EQ(GrowthWords("grows", MonoTime::Infinite(), At(103)), "grows");
}

TEST_F(GrowthTest, SaysWhyANodeMustStayForLonger) {
  input.fresh = {{"pc3", At(100 + 31 * 60), 7}};
  EXPECT_EQ(DecideGrowth(input).words,
            "may grow from 2 to 3 nodes with pc3, if pc3 stays: it was lost or "
            "reclaimed 7 times without an hour's rest between, so it must stay for 32 min");
}

TEST_F(GrowthTest, WaitsUntilTheGangItselfHasRunForAWhile) {
  input.gang_steady_at = At(105);
  const GrowthDecision decision = DecideGrowth(input);
  EXPECT_FALSE(decision.grow);
  EXPECT_EQ(decision.again, At(105));
  EXPECT_THAT(decision.words, HasSubstr("once it has run for 30 s"));
}

TEST_F(GrowthTest, AQueuedRunGoesFirst) {
  input.waiting = 7;
  const GrowthDecision decision = DecideGrowth(input);
  EXPECT_FALSE(decision.grow);
  EXPECT_EQ(decision.words, "could grow from 2 to 3 nodes with pc3, but run 7 waits for devices");
}

TEST_F(GrowthTest, WithoutANewNodeThereIsNothingToSay) {
  input.fresh.clear();
  const GrowthDecision decision = DecideGrowth(input);
  EXPECT_FALSE(decision.grow);
  EXPECT_EQ(decision.words, "");
}

TEST(SteadyTimeTest, DoublesWithEachDepartureAfterTheFirst) {
  const absl::Duration s = absl::Seconds(30);
  EXPECT_EQ(SteadyTime(s, 0), s);
  EXPECT_EQ(SteadyTime(s, 1), s);
  EXPECT_EQ(SteadyTime(s, 2), 2 * s);
  EXPECT_EQ(SteadyTime(s, 4), 8 * s);
  EXPECT_EQ(SteadyTime(s, 1000), absl::Hours(1));
  EXPECT_EQ(SteadyTime(absl::Hours(2), 5), absl::Hours(2));
}

}  // namespace
}  // namespace hpc::coordinator
