#include "train/group/watch_message.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace hpc::train {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;

absl::string_view WithoutNewline(absl::string_view line) { return line.substr(0, line.size() - 1); }

TEST(WatchMessage, AQuestionArrives) {
  std::optional<WatchRequest> got = DecodeRequest(WithoutNewline(EncodeRequest({"abc", {}, {}})));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->secret, "abc");
  EXPECT_FALSE(got->verdict.has_value());
}

TEST(WatchMessage, AVerdictArrives) {
  const std::string line = EncodeRequest({"abc", Verdict{{1, 3}, "rank 1 went\tfar\naway"}, {}});
  std::optional<WatchRequest> got = DecodeRequest(WithoutNewline(line));
  ASSERT_TRUE(got.has_value() && got->verdict.has_value());
  EXPECT_THAT(got->verdict->missing, ElementsAre(1, 3));
  EXPECT_EQ(got->verdict->reason, "rank 1 went far away");
}

TEST(WatchMessage, WhoStaysSaysWho) {
  std::optional<WatchRequest> got = DecodeRequest(WithoutNewline(EncodeRequest({"abc", {}, 3})));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->stay, 3);
  EXPECT_FALSE(DecodeRequest("hpc-train 1 abc stay").has_value());
  EXPECT_FALSE(DecodeRequest("hpc-train 1 abc stay -1").has_value());
}

TEST(WatchMessage, AStatusArrives) {
  RankStatus status = {.entered = {7, "barrier"}, .ago = std::chrono::milliseconds(1500)};
  std::optional<RankStatus> got = DecodeStatus(WithoutNewline(EncodeStatus(status)));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->entered.number, 7u);
  EXPECT_EQ(got->entered.what, "barrier");
  EXPECT_EQ(got->ago.count(), 1500);
  EXPECT_FALSE(got->verdict.has_value());

  status.verdict = Verdict{{}, "aborted"};
  got = DecodeStatus(WithoutNewline(EncodeStatus(status)));
  ASSERT_TRUE(got.has_value() && got->verdict.has_value());
  EXPECT_EQ(got->verdict->reason, "aborted");
}

TEST(WatchMessage, LongTextIsCutToWhatFitsALine) {
  std::string longest(100000, 'x');
  RankStatus status = {.entered = {7, longest}, .verdict = Verdict{{1}, longest}};
  EXPECT_LE(EncodeStatus(status).size(), kMaxWatchLine);
  EXPECT_LE(EncodeRequest({"abc", Verdict{std::vector<int>(10000, 7), longest}, {}}).size(),
            kMaxWatchLine);
}

TEST(WatchMessage, AnythingElseIsNone) {
  for (const char* line :
       {"", " ", "GET / HTTP/1.1", "hpc-train 1 abc", "hpc-train 2 abc ask",
        "hpc-train 1 abc ask\t", "hpc-train 1 abc ask more", "hpc-train 1 abc tell 1",
        "hpc-train 1 abc tell 1,\tgone", "hpc-train 1 abc tell -1\tgone",
        "hpc-train 1 abc tell 99999999999\tgone"}) {
    EXPECT_THAT(DecodeRequest(line).has_value(), Eq(false)) << line;
  }
  for (const char* line : {"", "ok", "status 1 2 0 -", "status 1 2 0 -\t", "status x 2 0 -\ta\tb",
                           "status 1 -2 0 -\ta\tb", "status 1 2 7 -\ta\tb", "status 1 2 1 x\ta\tb",
                           "status 1 2 0 -\ta\tb\tc"}) {
    EXPECT_THAT(DecodeStatus(line).has_value(), Eq(false)) << line;
  }
}

}  // namespace
}  // namespace hpc::train
