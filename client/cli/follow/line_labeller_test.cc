#include "client/cli/follow/line_labeller.h"

#include <gtest/gtest.h>

#include <vector>

namespace hpc::client {
namespace {

constexpr StreamId kOut0 = {1, 0, false}, kErr0 = {1, 0, true}, kOut1 = {1, 1, false};

std::string Rest(LineLabeller* lines) {
  std::string rest;
  lines->Finish([&](const StreamId&, const std::string& line) { rest += line; });
  return rest;
}

TEST(LineLabellerTest, LabelsEachLine) {
  LineLabeller lines;
  EXPECT_EQ(lines.Add(kOut0, "[0] ", "a\nb\n\n"), "[0] a\n[0] b\n[0] \n");
  EXPECT_EQ(Rest(&lines), "");
}

TEST(LineLabellerTest, KeepsAnUnfinishedLineUntilItEnds) {
  LineLabeller lines;
  EXPECT_EQ(lines.Add(kOut0, "[0] ", "hal"), "");
  EXPECT_EQ(lines.Add(kOut1, "[1] ", "other\n"), "[1] other\n");
  EXPECT_EQ(lines.Add(kErr0, "[0] ", "error\n"), "[0] error\n");
  EXPECT_EQ(lines.Add(kOut0, "[0] ", "f\nnext"), "[0] half\n");
  EXPECT_EQ(Rest(&lines), "[0] next\n");
  EXPECT_EQ(Rest(&lines), "");
}

TEST(LineLabellerTest, EveryLineComesOutWholeHoweverItIsCut) {
  const std::string text = "one\ntwo\r\nthree\rfour\n\r\nfive";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    LineLabeller lines;
    std::string out = lines.Add(kOut0, ">", text.substr(0, cut));
    out += lines.Add(kOut0, ">", text.substr(cut));
    EXPECT_EQ(out + Rest(&lines), ">one\n>two\n>three\n>four\n>\n>five\n") << "cut at " << cut;
  }
}

TEST(LineLabellerTest, AProgressBarMovesOnLineByLine) {
  LineLabeller lines;
  EXPECT_EQ(lines.Add(kErr0, "[0] ", " 10%\r 20%\r"), "[0]  10%\n[0]  20%\n");
}

TEST(LineLabellerTest, AProgressBarThatBeginsWithAReturnHasNoEmptyLine) {
  LineLabeller lines;
  EXPECT_EQ(lines.Add(kErr0, "[0] ", "\r 10%"), "");
  EXPECT_EQ(lines.Add(kErr0, "[0] ", "\r 20%\r"), "[0]  10%\n[0]  20%\n");
  EXPECT_EQ(lines.Add(kErr0, "[0] ", "\r\r 30%\n"), "[0]  30%\n");
}

TEST(LineLabellerTest, AnEndlessLineIsWrittenInPieces) {
  LineLabeller lines;
  const std::string out = lines.Add(kOut0, ">", std::string((64 << 10) + 5, 'x'));
  EXPECT_EQ(out, ">" + std::string(64 << 10, 'x') + "\n");
  EXPECT_EQ(Rest(&lines), ">xxxxx\n");
}

TEST(LineLabellerTest, WithoutALabelLinesStayWholeAndBytesStayAsTheyAre) {
  LineLabeller lines;
  EXPECT_EQ(lines.Add(kOut0, "", "one\ntw"), "one\n");
  EXPECT_EQ(lines.Add(kOut1, "", " 10%\r 2"), " 10%\r");
  EXPECT_EQ(lines.Add(kOut0, "", "o\r\nend"), "two\r\n");
  EXPECT_EQ(lines.Add(kOut0, "", std::string(64 << 10, 'x')), "end" + std::string(64 << 10, 'x'));
  EXPECT_EQ(Rest(&lines), " 2");
}

TEST(LineLabellerTest, AnyBytesPass) {
  LineLabeller lines;
  EXPECT_EQ(lines.Add(kOut0, ">", absl::string_view("\0\xff\n", 3)), std::string(">\0\xff\n", 4));
}

}  // namespace
}  // namespace hpc::client
