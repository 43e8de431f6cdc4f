#include "train/group/verdict.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = RankAnswer::Kind;

const Collective kSum = {.number = 57, .what = "all_reduce 'gradients 2' of float[10]"};
const Collective kBefore = {.number = 56, .what = "all_reduce 'gradients 1' of float[10]"};
const Failure kBroken = {.collective = kSum};
const Failure kLate = {.collective = kSum, .timed_out = true};

RankAnswer Answered(int rank, Collective entered) {
  return {.rank = rank, .status = {.entered = entered, .ago = std::chrono::seconds(31)}};
}

RankAnswer Without(int rank, Kind kind) {
  return {.rank = rank, .kind = kind, .endpoint = "10.0.0.3:4000"};
}

TEST(Verdict, ARankWhoseProcessIsGoneIsMissing) {
  Verdict verdict = Judge(kBroken, {Answered(1, kSum), Without(2, Kind::kGone)});
  EXPECT_THAT(verdict.missing, ElementsAre(2));
  EXPECT_EQ(verdict.reason,
            "rank 2 never completed collective 57, all_reduce 'gradients 2' of float[10]: its "
            "process is gone (nothing listens at 10.0.0.3:4000)");
}

TEST(Verdict, ARankThatIsStillBeforeTheCollectiveIsNamedWithWhatItDidLast) {
  Verdict verdict = Judge(kLate, {Answered(1, kSum), Answered(2, kBefore)});
  EXPECT_THAT(verdict.missing, ElementsAre(2));
  EXPECT_EQ(verdict.reason,
            "rank 2 never reached collective 57, all_reduce 'gradients 2' of float[10]: the last "
            "that it entered is collective 56, all_reduce 'gradients 1' of float[10], 31 s ago");
}

TEST(Verdict, ARankThatOnlyComputesIsNotBlamedForABrokenConnection) {
  Verdict verdict = Judge(kBroken, {Answered(1, kBefore), Without(2, Kind::kGone)});
  EXPECT_THAT(verdict.missing, ElementsAre(2));
  EXPECT_THAT(Judge(kBroken, {Answered(1, kBefore)}).missing, IsEmpty());
}

TEST(Verdict, AStoppedRankIsBlamedBeforeThoseThatAreBehind) {
  Verdict verdict = Judge(kLate, {Answered(1, kBefore), Without(2, Kind::kSilent)});
  EXPECT_THAT(verdict.missing, ElementsAre(2));
  EXPECT_THAT(verdict.reason, HasSubstr("stopped or its PC hangs"));
}

TEST(Verdict, AllThatAreAwayAreNamed) {
  Verdict verdict = Judge(
      kLate, {Without(1, Kind::kUnreachable), Without(2, Kind::kSilent), Without(3, Kind::kGone)});
  EXPECT_THAT(verdict.missing, ElementsAre(1, 3));
  EXPECT_THAT(verdict.reason, AllOf(HasSubstr("rank 1 never completed"),
                                    HasSubstr("network is cut; rank 3 never completed")));
}

TEST(Verdict, ARankInAnotherCollectiveIsToldFromOneThatIsLate) {
  const Collective other = {.number = 57, .what = "broadcast 'buffers' of float[3]"};
  Verdict verdict = Judge(kLate, {Answered(1, kSum), Answered(2, other)});
  EXPECT_THAT(verdict.missing, ElementsAre(2));
  EXPECT_THAT(verdict.reason, HasSubstr("it entered broadcast 'buffers' of float[3] in its place"));
}

TEST(Verdict, WhoIsStillConnectingIsNotInAnotherCollective) {
  const Failure connecting = {.collective = {.what = "connecting"}, .seen = "rank 0 saw: no way"};
  EXPECT_THAT(Judge(connecting, {Answered(1, {})}).missing, IsEmpty());
  const Verdict verdict = Judge(connecting, {Answered(1, {}), Without(2, Kind::kGone)});
  EXPECT_THAT(verdict.missing, ElementsAre(2));
  EXPECT_THAT(verdict.reason, HasSubstr("rank 2 never completed connecting: its process is gone"));
}

TEST(Verdict, TheFirstVerdictHoldsForAll) {
  RankAnswer failed = Answered(1, kSum);
  failed.status.verdict = Verdict{.missing = {3}, .reason = "rank 3 went"};
  Verdict verdict = Judge(kBroken, {failed, Without(2, Kind::kGone)});
  EXPECT_THAT(verdict.missing, ElementsAre(3));
  EXPECT_EQ(verdict.reason, "rank 3 went");
}

TEST(Verdict, WhereAllRanksAreThereTheNetworkIsToBlame) {
  EXPECT_THAT(Judge(kLate, {Answered(1, kSum)}).missing, IsEmpty());
  EXPECT_THAT(Judge(kLate, {Answered(1, kSum)}).reason, HasSubstr("too slow for the deadline"));
  EXPECT_THAT(Judge(kBroken, {Answered(1, kSum)}).reason, HasSubstr("connection"));
  Failure seen = kBroken;
  seen.seen = "rank 0 saw: end of file";
  EXPECT_THAT(Judge(seen, {Answered(1, kSum)}).reason,
              HasSubstr("two of them broke (rank 0 saw: end of file)"));
}

TEST(Verdict, ARankThatNeverEnteredAnythingIsSaidToBeThere) {
  EXPECT_THAT(Judge(kLate, {Answered(1, {})}).reason, HasSubstr("not entered any collective yet"));
}

}  // namespace
}  // namespace hpc::train
