#include "client/cli/forms/listing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/cli/forms/record.h"

namespace hpc::client {
namespace {

constexpr int64_t kNow = 1'800'000'000'000'000;
constexpr int64_t kMinute = 60'000'000;

Listing Two(const ListingForm& form) {
  Listing listing({{"name", "NODE"}, {"seen", "SEEN"}, {"os", ""}, {"reason", "REASON"}}, form);
  listing.Text("pc1", Colour::kGood).Time(kNow - 3 * kMinute).Text("linux").Text("idle").EndRow();
  listing.Text("großer").Time(0).Text("").Text("a\nb \x1b[31m").EndRow();
  return listing;
}

TEST(ListingTest, ATableIsAlignedAndShowsTitledColumnsOnly) {
  EXPECT_EQ(Two({.now_us = kNow}).Finish(),
            "NODE    SEEN       REASON\n"
            "pc1     3 min ago  idle\n"
            "großer  -          a b  [31m\n");
}

TEST(ListingTest, JsonHoldsTheSameRowsAndMore) {
  EXPECT_EQ(Two({.json = true, .now_us = kNow}).Finish(),
            "[\n"
            R"({"name":"pc1","seen":"2027-01-15T07:57:00.000000Z","os":"linux","reason":"idle"},)"
            "\n"
            R"({"name":"großer","seen":null,"os":"","reason":"a\nb \u001b[31m"})"
            "\n]\n");
}

TEST(ListingTest, ColoursDoNotChangeTheAlignment) {
  const std::string table = Two({.colours = true, .now_us = kNow}).Finish();
  EXPECT_THAT(table, ::testing::HasSubstr("\x1b[32mpc1\x1b[0m     3 min ago  idle\n"));
}

TEST(ListingTest, TheLastColumnIsCutToTheTerminal) {
  Listing listing({{"a", "A"}, {"b", "B"}}, {.width = 20});
  listing.Text("abcde").Text("0123456789abcdefghij").EndRow();
  EXPECT_EQ(listing.Finish(), "A      B\nabcde  0123456789ab…\n");
}

TEST(ListingTest, AnEmptyListingIsAnEmptyArray) {
  Listing listing({{"a", "A"}}, {.json = true});
  EXPECT_TRUE(listing.empty());
  EXPECT_EQ(listing.Finish(), "[\n]\n");
}

TEST(ListingTest, ALongJsonIsWrittenWhileRowsCome) {
  Listing listing({{"a", "A"}}, {.json = true});
  std::string text, all = "[";
  size_t pieces = 0;
  for (int i = 0; i < 20'000; ++i) {
    listing.Integer(i).EndRow();
    absl::StrAppend(&all, i == 0 ? "" : ",", "\n{\"a\":", i, "}");
    listing.SpillTo([&](absl::string_view piece) {
      text.append(piece.data(), piece.size());
      ++pieces;
    });
  }
  EXPECT_GT(pieces, 1);
  EXPECT_LT(pieces, 100);
  EXPECT_EQ(text + listing.Finish(), all + "\n]\n");
}

TEST(ListingTest, EveryKindOfValueHasTwoForms) {
  const auto fill = [](const ListingForm& form) {
    Listing listing({{"i", "I"},
                     {"r", "R"},
                     {"b", "B"},
                     {"s", "S"},
                     {"l", "L"},
                     {"n", "N"},
                     {"o", "O"},
                     {"x", ""},
                     {"t_us", "T"},
                     {"", "Y"}},
                    form);
    listing.Integer(-3).Real(0.5).Bool(true).Bytes(12 << 20);
    listing.Items(std::vector<std::string>{"a", "b"}).None().Both("now", "2026");
    listing.Nested([](JsonWriter* json) { json->Raw("{}"); });
    listing.Span(5, 2'000'005).TableOnly("y").EndRow();
    return listing.Finish();
  };
  EXPECT_EQ(
      fill({}),
      "I   R    B    S       L    N  O    T    Y\n-3  0.5  yes  12 MiB  a,b  -  now  2 s  y\n");
  EXPECT_EQ(fill({.json = true}),
            "[\n{\"i\":-3,\"r\":0.5,\"b\":true,\"s\":12582912,\"l\":[\"a\",\"b\"],\"n\":null,"
            "\"o\":\"2026\",\"x\":{},\"t_us\":2000000}\n]\n");
}

TEST(RecordTest, ShowsAlignedLinesWithoutEmptyFields) {
  Record record({.now_us = kNow});
  record.Text("name", "Name", "pc1");
  record.Text("reason", "Reason", "");
  record.Time("at", "Started", kNow);
  record.Time("end", "Ended", 0);
  record.Duration("limit_ms", "Limit", 90'000);
  record.Integer("hidden", "", 7);
  const std::string text = record.Finish();
  EXPECT_THAT(text, ::testing::StartsWith("Name     pc1\nStarted  20"));
  EXPECT_THAT(text, ::testing::EndsWith(" (just now)\nLimit    1 min 30 s\n"));
}

TEST(RecordTest, JsonHasAllFieldsAndGroups) {
  Record record({.json = true});
  record.BeginGroup("run");
  record.Text("name", "Name", "");
  record.Time("end", "Ended", 0);
  record.Note("Only", "for people");
  record.EndGroup();
  record.Items("tags", "Tags", std::vector<std::string>{"a"});
  EXPECT_EQ(record.Finish(), "{\"run\":{\"name\":\"\",\"end\":null},\"tags\":[\"a\"]}\n");
}

TEST(ListingTest, ALongTableComesInPieces) {
  Listing listing({{"a", "A"}, {"b", "B"}}, {});
  for (int i = 0; i < 20'000; ++i) listing.Integer(i).Text("text").EndRow();
  std::string all;
  int pieces = 0;
  listing.FinishTo([&](absl::string_view piece) {
    absl::StrAppend(&all, piece);
    ++pieces;
  });
  EXPECT_GT(pieces, 2);
  EXPECT_EQ(all, listing.Finish());
  EXPECT_THAT(all, testing::StartsWith("A      B\n0      text\n1      text\n"));
  EXPECT_THAT(all, testing::EndsWith("\n19999  text\n"));
}

}  // namespace
}  // namespace hpc::client
