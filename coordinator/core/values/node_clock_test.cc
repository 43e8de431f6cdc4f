#include "coordinator/core/values/node_clock.h"

#include <gtest/gtest.h>

#include "common/testing/at.h"

namespace hpc::coordinator {
namespace {

absl::Duration Node(double seconds) { return absl::Seconds(seconds); }

TEST(NodeClockTest, WhatIsReadLateWasSaidAsLongAgoAsQuickerReportsShow) {
  NodeClock clock;
  clock.Said(Node(100), At(507));  // read at once
  clock.Said(Node(110), At(520));  // it lay in a socket for three seconds
  const Window when = clock.At(Node(109), At(520));
  EXPECT_GE(when.latest, At(516));
  EXPECT_LE(when.latest, At(516.02)) << "but for what two clocks differ in ten seconds";
}

TEST(NodeClockTest, AnAnswerThatWasHeardBoundsHowEarlyItWas) {
  NodeClock clock;
  clock.Said(Node(100), At(507));
  clock.Heard(Node(100.01), At(507), At(509));
  const Window when = clock.At(Node(102), At(509));
  EXPECT_GE(when.earliest, At(508.98));
  EXPECT_LE(when.latest, At(509));
}

TEST(NodeClockTest, AHeartbeatTellsWhenTheAnswerToTheOneBeforeWasHeard) {
  NodeClock clock;
  EXPECT_FALSE(clock.told());
  clock.Take({Node(100), true}, At(507));
  EXPECT_FALSE(clock.bounded());
  clock.Take({Node(102), true, Node(99), Node(101)}, At(509));
  EXPECT_FALSE(clock.bounded()) << "the answer to one that was not read";
  clock.Take({Node(104), true, Node(102), Node(102.01)}, At(511));
  EXPECT_TRUE(clock.bounded());
  const Window when = clock.Before(Node(1), At(511));
  EXPECT_GE(when.earliest, At(509.98));
  EXPECT_LE(when.latest, At(510.01));
}

TEST(NodeClockTest, WhoDoesNotTellCountsAsReadAtOnce) {
  NodeClock clock;
  clock.Take({Node(100), true}, At(507));
  clock.Untold();
  EXPECT_EQ(clock.Before(Node(3), At(600)), Window::Exactly(At(597)));
}

TEST(NodeClockTest, WithoutAnAnswerItIsNotMuchEarlierThanTheQuickestReportSays) {
  NodeClock clock;
  clock.Said(Node(100), At(507));
  EXPECT_EQ(clock.At(Node(99), At(507)).earliest, At(496));
  EXPECT_EQ(clock.At(Node(99), At(507)).latest, At(506));
}

TEST(NodeClockTest, NothingThatIsToldLiesInTheFuture) {
  NodeClock clock;
  clock.Said(Node(100), At(507));
  EXPECT_EQ(clock.At(Node(200), At(507)), Window::Exactly(At(507)));
}

TEST(NodeClockTest, ASuspensionOfTheCoordinatorIsNoContradiction) {
  NodeClock clock;
  clock.Said(Node(100), At(507));
  clock.Heard(Node(100), At(507), At(507));
  clock.Said(Node(200), At(510));  // the coordinator's clock did not count 97 s
  const Window when = clock.At(Node(199), At(510));
  EXPECT_EQ(when.latest, At(509));
  EXPECT_EQ(when.earliest, At(499));
}

}  // namespace
}  // namespace hpc::coordinator
