#include "client/cli/follow/rank_labels.h"

#include <gtest/gtest.h>

namespace hpc::client {
namespace {

// Attempt 1 has two ranks on each of pc1 and pc2. Attempt 2 has one rank on pc3.
v1::RunDetail Detail() {
  v1::RunDetail detail;
  const auto attempt = [&](int number, int world) {
    detail.add_attempts()->set_number(number);
    detail.mutable_attempts()->rbegin()->set_world_size(world);
  };
  const auto placement = [&](int number, const char* node, int first) {
    v1::Placement* p = detail.add_placements();
    p->set_attempt(number);
    p->set_node(node);
    p->set_first_rank(first);
  };
  attempt(1, 4);
  attempt(2, 1);
  placement(1, "pc1", 0);
  placement(1, "pc2", 2);
  placement(2, "pc3", 0);
  return detail;
}

RankLabels Learnt(Labelling labelling, bool colours) {
  RankLabels labels(labelling, colours);
  labels.Learn(Detail());
  return labels;
}

TEST(RankLabelsTest, APipeGetsTheRank) {
  EXPECT_EQ(Learnt(Labelling::kAuto, false).For(1, 3), "[3] ");
}

TEST(RankLabelsTest, ATerminalGetsTheNodeInAColour) {
  const RankLabels labels = Learnt(Labelling::kAuto, true);
  EXPECT_EQ(labels.For(1, 1), "\x1b[33m[1 pc1]\x1b[0m ");
  EXPECT_EQ(labels.For(1, 2), "\x1b[32m[2 pc2]\x1b[0m ");
}

TEST(RankLabelsTest, ASingleRankIsLabelledOnRequestOnly) {
  EXPECT_EQ(Learnt(Labelling::kAuto, false).For(2, 0), "");
  EXPECT_EQ(Learnt(Labelling::kAlways, false).For(2, 0), "[0] ");
  EXPECT_EQ(Learnt(Labelling::kNever, false).For(1, 3), "");
}

TEST(RankLabelsTest, AsksOnceForAnAttempt) {
  RankLabels labels(Labelling::kAuto, false);
  EXPECT_TRUE(labels.Needs(1));
  labels.Learn(Detail());
  EXPECT_FALSE(labels.Needs(1));
  EXPECT_TRUE(labels.Needs(3));
  labels.LearnNothing(3);
  EXPECT_FALSE(labels.Needs(3));
  EXPECT_EQ(labels.For(3, 7), "[7] ");
  EXPECT_FALSE(RankLabels(Labelling::kRaw, false).Needs(1));
}

TEST(RankLabelsTest, KnowsWhereNothingCanMix) {
  const RankLabels labels = Learnt(Labelling::kNever, false);
  EXPECT_FALSE(labels.Single(1));
  EXPECT_TRUE(labels.Single(2));
  EXPECT_TRUE(RankLabels(Labelling::kRaw, false).Single(1));
}

}  // namespace
}  // namespace hpc::client
