#include "client/cli/follow/tail_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::LogPiece Piece(int rank, int64_t offset, const std::string& data) {
  v1::LogPiece piece;
  piece.set_attempt(1);
  piece.set_rank(rank);
  piece.set_offset(offset);
  piece.set_data(data);
  return piece;
}

std::vector<std::string> Texts(TailLines* tail) {
  std::vector<std::string> texts;
  for (const v1::LogPiece& piece : tail->Finish()) texts.push_back(piece.data() + piece.missing());
  return texts;
}

TEST(TailLinesTest, KeepsTheLastLinesOfAllRanks) {
  TailLines tail(3);
  tail.Add(Piece(0, 0, "a0\na1\n"));
  EXPECT_FALSE(tail.complete());
  tail.Add(Piece(1, 0, "b0\nb1\n"));
  EXPECT_TRUE(tail.complete());
  EXPECT_THAT(Texts(&tail), ElementsAre("a1\n", "b0\n", "b1\n"));
}

TEST(TailLinesTest, ALineHasTheTimeOfItsEnd) {
  TailLines tail(2);
  v1::LogPiece begun = Piece(0, 0, "first\nsec"), rest = Piece(0, 9, "ond\n");
  begun.set_at_us(1'000'000);
  rest.set_at_us(2'000'000);
  tail.Add(begun);
  tail.Add(rest);
  const auto lines = tail.Finish();
  EXPECT_EQ(lines[0].at_us(), 1'000'000);
  EXPECT_EQ(lines[1].at_us(), 2'000'000);
}

TEST(TailLinesTest, ALineThatComesInPartsIsOne) {
  TailLines tail(2);
  tail.Add(Piece(0, 0, "first\nsec"));
  tail.Add(Piece(1, 0, "other\n"));
  tail.Add(Piece(0, 9, "ond\n"));
  EXPECT_THAT(Texts(&tail), ElementsAre("other\n", "second\n"));
}

TEST(TailLinesTest, WhatHasNoEndYetIsTheLast) {
  TailLines tail(2);
  tail.Add(Piece(0, 0, "one\ntwo\nthr"));
  EXPECT_TRUE(tail.complete());
  EXPECT_THAT(Texts(&tail), ElementsAre("two\n", "thr"));
}

TEST(TailLinesTest, TheRestOfALineWhoseBeginningWasNotReadIsLeftOut) {
  TailLines tail(5);
  tail.Add(Piece(0, 100, "rest of it"));
  tail.Add(Piece(0, 110, " and more\nwhole\n"));
  tail.Add(Piece(1, 0, "also whole\n"));
  EXPECT_FALSE(tail.complete());
  EXPECT_THAT(Texts(&tail), ElementsAre("whole\n", "also whole\n"));
}

TEST(TailLinesTest, ALineWithoutEndIsTakenInParts) {
  TailLines tail(1);
  tail.Add(Piece(0, 0, std::string(64 << 10, '=')));
  tail.Add(Piece(0, 64 << 10, "end"));
  EXPECT_THAT(Texts(&tail), ElementsAre("end"));
}

TEST(TailLinesTest, ThatOutputIsMissingCountsAsALine) {
  v1::LogPiece hole;
  hole.set_missing("damaged");
  TailLines tail(2);
  tail.Add(Piece(0, 0, "one\n"));
  tail.Add(hole);
  tail.Add(Piece(0, 50, "two\n"));
  EXPECT_THAT(Texts(&tail), ElementsAre("damaged", "two\n"));
}

TEST(TailLinesTest, NoneAreKeptWhereNoneAreWanted) {
  TailLines tail(0);
  tail.Add(Piece(0, 0, "one\ntwo"));
  EXPECT_TRUE(tail.complete());
  EXPECT_THAT(Texts(&tail), IsEmpty());
}

}  // namespace
}  // namespace hpc::client
