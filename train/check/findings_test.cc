#include "train/check/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "train/check/pair_rounds.h"

namespace hpc::train {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kGigabit = 117e6, kHundred = 11.8e6;

// Returns one rank on each of pc1, pc2 ..., all of them alike.
GangResult Alike(int pcs) {
  GangResult gang;
  for (int i = 1; i <= pcs; ++i) gang.ranks.push_back({"pc" + std::to_string(i), "0.1", "2.13.0"});
  for (const auto& round : PairRounds(pcs)) {
    for (const auto& [a, b] : round) gang.pairs.push_back({a, b, {2e-4, kGigabit, kGigabit}, ""});
  }
  gang.reduces = {{4096, 0.001, {}}};
  gang.step = {std::vector<Repeated>(static_cast<size_t>(pcs), {0.1, 0.15}), 0.2};
  return gang;
}

PairResult& Between(GangResult* gang, int a, int b) {
  for (PairResult& pair : gang->pairs) {
    if (pair.a == a && pair.b == b) return pair;
  }
  throw std::logic_error("no such pair");
}

TEST(FindingsTest, NothingIsWrongWhereAllAreAlike) {
  for (int pcs = 1; pcs <= 6; ++pcs) EXPECT_THAT(FindingsOf(Alike(pcs)), IsEmpty()) << pcs;
}

TEST(FindingsTest, APcBehindASlowPortIsNamedOnce) {
  GangResult gang = Alike(4);
  for (PairResult& pair : gang.pairs) {
    if (pair.a == 2 || pair.b == 2) pair.speed = {2e-4, kHundred, kHundred};
  }
  EXPECT_THAT(FindingsOf(gang),
              ElementsAre("every link of pc3 is slow: 11.8 MB/s at best, the speed of a 100 Mbit/s "
                          "port, switch or cable; the others have 117 MB/s"));
}

TEST(FindingsTest, OneSlowLinkIsOfTwo) {
  GangResult gang = Alike(4);
  Between(&gang, 0, 3).speed = {2e-4, 40e6, 42e6};
  EXPECT_THAT(FindingsOf(gang), ElementsAre("the link between pc1 and pc4 is slow: 42 MB/s; others "
                                            "have 117 MB/s"));
}

TEST(FindingsTest, TwoPcsHaveNobodyToBeComparedWithButAPortIsKnownByItsSpeed) {
  GangResult gang = Alike(2);
  gang.pairs[0].speed = {2e-4, kHundred, kHundred};
  EXPECT_THAT(FindingsOf(gang),
              ElementsAre(AllOf(HasSubstr("between pc1 and pc2 carries 11.8 MB/s"),
                                HasSubstr("100 Mbit/s"))));
  gang.pairs[0].speed = {2e-4, 40e6, 40e6};
  EXPECT_THAT(FindingsOf(gang), IsEmpty()) << "Wi-Fi, and nothing faster is known";
}

TEST(FindingsTest, ALinkThatIsSlowOneWayIsNamedWithTheWay) {
  GangResult gang = Alike(3);
  Between(&gang, 0, 2).speed = {2e-4, kGigabit, 20e6};
  EXPECT_THAT(
      FindingsOf(gang),
      ElementsAre(AllOf(HasSubstr("from pc3 to pc1 is slow in this direction alone: 20 MB/s"),
                        HasSubstr("back 117 MB/s"))));
}

TEST(FindingsTest, RanksOfOnePcSayNothingOfTheNetwork) {
  GangResult gang = Alike(4);
  gang.ranks[1].host = "pc1";
  Between(&gang, 0, 1).speed = {1e-5, 5e9, 5e9};
  EXPECT_THAT(FindingsOf(gang), IsEmpty());
}

TEST(FindingsTest, AFarPcAndASlowOneAreNamed) {
  GangResult gang = Alike(3);
  Between(&gang, 0, 1).speed.round_trip = 0.02;
  Between(&gang, 1, 2).speed.round_trip = 0.03;
  gang.step.alone = {{0.1, 0.1}, {0.1, 0.1}, {0.25, 0.3}};
  EXPECT_THAT(FindingsOf(gang), ElementsAre(HasSubstr("pc2 is far away: 20 ms there and back"),
                                            HasSubstr("pc3 (rank 2) computes slowly: 250 ms")));
  gang = Alike(2);
  gang.step.alone = {{0.3, 0.3}, {0.1, 0.1}};
  EXPECT_THAT(FindingsOf(gang), ElementsAre(HasSubstr("pc1 (rank 0) computes slowly")));
}

TEST(FindingsTest, APcWhoseTimesVaryWidelyIsNamed) {
  GangResult gang = Alike(2);
  gang.step.alone[0].slow = 2;
  EXPECT_THAT(FindingsOf(gang),
              ElementsAre("figures of pc1 (rank 0) vary by 20 x: a step takes 100 ms to 2 s; "
                          "something else runs there"));
}

TEST(FindingsTest, AStepAloneThatTakesLongerThanOneTogetherVariesToo) {
  GangResult gang = Alike(1);
  gang.step = {{{1.9, 2}}, 0.08};
  EXPECT_THAT(FindingsOf(gang), ElementsAre(HasSubstr("figures of pc1 (rank 0) vary by 25 x")));
}

TEST(FindingsTest, TheWorstComesFirst) {
  GangResult gang = Alike(3);
  gang.ranks[2].torch = "2.12.1";
  Between(&gang, 0, 1).error = "no connection to 10.0.0.2:4000: No route to host";
  gang.reduces[0].wrong = {1};
  EXPECT_THAT(
      FindingsOf(gang),
      ElementsAre(HasSubstr("an all-reduce of 4.0 KiB gave wrong sums on pc2 (rank 1)"),
                  HasSubstr("pc1 (rank 0) cannot measure its link to pc2 (rank 1): no connection"),
                  "pc3 (rank 2) has torch 2.12.1, most others have 2.13.0"));
}

TEST(OfRepetitionsTest, TheFastestCountsAndOneHiccupDoesNot) {
  const Repeated one = OfRepetitions({0.3, 9, 0.1, 0.2});
  EXPECT_DOUBLE_EQ(one.fastest, 0.1);
  EXPECT_DOUBLE_EQ(one.slow, 0.3);
  EXPECT_DOUBLE_EQ(OfRepetitions({5, 0.1}).slow, 0.1);
  std::vector<double> many(200, 0.1);
  std::fill_n(many.begin(), 20, 9);
  EXPECT_DOUBLE_EQ(OfRepetitions(many).slow, 0.1) << "a GPU takes many short steps";
}

TEST(WordsTest, FiguresOfAnySizeFitTheirColumn) {
  EXPECT_EQ(SpeedWords(2.12e9), "2.12 GB/s");
  EXPECT_EQ(SpeedWords(999.6e6), "1 GB/s");
  EXPECT_EQ(SpeedWords(117e6), "117 MB/s");
  EXPECT_EQ(SpeedWords(1024e3), "1.02 MB/s");
  EXPECT_EQ(TimeWords(0.9996), "1 s");
  EXPECT_EQ(TimeWords(1234), "1234 s");
  EXPECT_EQ(TimeWords(0.00021), "0.21 ms");
}

TEST(BusBandwidthTest, IsWhatEachLinkOfARingCarries) {
  EXPECT_DOUBLE_EQ(BusBandwidth({100, 1, {}}, 4), 150);
  EXPECT_DOUBLE_EQ(BusBandwidth({100, 1, {}}, 1), 0);
}

}  // namespace
}  // namespace hpc::train
