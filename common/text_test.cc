#include "common/text.h"

#include "common/status_matchers.h"

namespace hpc {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(CheckTextTest, TakesAnyUnicode) {
  EXPECT_OK(CheckText("the name", ""));
  EXPECT_OK(CheckText("the name", "Größe \xE2\x82\xAC \xF0\x9F\x98\x80"));
}

TEST(CheckTextTest, NamesTheByteThatIsWrong) {
  EXPECT_THAT(
      CheckText("the name", "abc\xff"),
      StatusIs(absl::StatusCode::kInvalidArgument, "the name is not valid UTF-8 (byte 0xff at 3)"));
  EXPECT_THAT(CheckText("tag 2", absl::string_view("a\0b", 3)),
              StatusIs(absl::StatusCode::kInvalidArgument, "tag 2 contains a NUL byte at 1"));
}

TEST(CheckTextTest, RefusesOverlongFormsSurrogatesAndCutSequences) {
  for (const char* text : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80"}) {
    EXPECT_FALSE(CheckText("x", text).ok()) << text;
  }
}

TEST(CheckNameTest, RefusesEmptyLongAndControlCharacters) {
  EXPECT_OK(CheckName("the run's name", "a run of mine"));
  EXPECT_THAT(CheckName("the tag", ""),
              StatusIs(absl::StatusCode::kInvalidArgument, "the tag is empty"));
  EXPECT_THAT(
      CheckName("the tag", std::string(201, 'x')),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("201 bytes long; at most 200")));
  EXPECT_THAT(CheckName("the tag", "a\nb"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0x0a at 1")));
  EXPECT_THAT(CheckName("the tag", "a\u202Eb"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0xe280ae at 1")));
  for (const char* unseen : {"an\u00ADna", "an\u200Bna", "anna\u2060", "\uFEFFanna"}) {
    EXPECT_FALSE(CheckName("the tag", unseen).ok()) << "it looks like anna";
  }
  EXPECT_OK(CheckName("the tag", "\u00e9\u2019\u4e2d\U0001F600"));
}

TEST(IsPlainTest, OnlyWhatOneLineLeavesAsItIsAndEachByteIsAColumn) {
  EXPECT_TRUE(IsPlain(""));
  EXPECT_TRUE(IsPlain("a b ~!"));
  for (const char* text : {"a\n", "\x7f", "\u00e9", "\xff", "\t"})
    EXPECT_FALSE(IsPlain(text)) << text;
}

TEST(OneLineTest, NothingInItMovesTheCursorOrTurnsTheText) {
  EXPECT_EQ(OneLine("a\n\x1b[2J\x7f\u009b2J"), "a  [2J  2J");
  EXPECT_EQ(OneLine("cod\u202Egnp.exe\u2069 \u2028"), "cod gnp.exe   ");
  EXPECT_EQ(OneLine("\u00e9\u2019\u4e2d \xC2"), "\u00e9\u2019\u4e2d \xC2");
  EXPECT_EQ(OneLine("half a character: \xC2, and on"), "half a character: \xC2, and on");
}

TEST(CheckNodeNameTest, AllowsWhatAHostNameMayBe) {
  EXPECT_OK(CheckNodeName("pc1"));
  EXPECT_OK(CheckNodeName("lab-3.home_net"));
  for (const char* name : {"", "-pc", ".", "pc 1", "p/c", "pc\xc3\xa9"}) {
    EXPECT_FALSE(CheckNodeName(name).ok()) << name;
  }
  EXPECT_FALSE(CheckNodeName(std::string(64, 'a')).ok());
}

TEST(ToValidUtf8Test, ReplacesEachWrongByte) {
  EXPECT_EQ(ToValidUtf8("ok \xE2\x82\xAC"), "ok \xE2\x82\xAC");
  EXPECT_EQ(ToValidUtf8("a\xff\xfe"
                        "b"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b");
}

TEST(ParseDurationTest, ReadsTheFormsThatPeopleType) {
  EXPECT_EQ(*ParseDuration("90"), absl::Seconds(90));
  EXPECT_EQ(*ParseDuration("0.5"), absl::Milliseconds(500));
  EXPECT_EQ(*ParseDuration("250ms"), absl::Milliseconds(250));
  EXPECT_EQ(*ParseDuration("45s"), absl::Seconds(45));
  EXPECT_EQ(*ParseDuration("10m"), absl::Minutes(10));
  EXPECT_EQ(*ParseDuration("1.5h"), absl::Minutes(90));
  EXPECT_EQ(*ParseDuration("1h30m"), absl::Minutes(90));
  EXPECT_EQ(*ParseDuration("1d"), absl::Hours(24));
  EXPECT_EQ(*ParseDuration("2:05"), absl::Seconds(125));
  EXPECT_EQ(*ParseDuration("1:00:00"), absl::Hours(1));
  EXPECT_EQ(*ParseDuration("1-00:00:00"), absl::Hours(24));
  EXPECT_EQ(*ParseDuration("2-12"), absl::Hours(60));
  EXPECT_EQ(*ParseDuration("0-1:30"), absl::Minutes(90));
}

TEST(ParseDurationTest, RefusesTheRestAndShowsTheForms) {
  for (const char* text :
       {"", "banana", "-5", "1-", "1-24", "1-2-3", "x-1", "0", "5x", "1:60", "1:", "h", "1h-2m",
        "1..5s", "inf", "nan", "1e300", "99999999999999d", "1 h"}) {
    EXPECT_THAT(ParseDuration(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1h30m")))
        << text;
  }
  for (const auto& [text, trouble] :
       {std::pair("0s", "'0s' is no time at all: give"),
        std::pair("101y", "'101y' is not a duration: give"),
        std::pair("36526d", "'36526d' is more than a century: give")}) {
    EXPECT_THAT(ParseDuration(text),
                StatusIs(absl::StatusCode::kInvalidArgument, StartsWith(trouble)));
  }
}

TEST(HumanDurationTest, IsShort) {
  EXPECT_EQ(HumanDuration(absl::Microseconds(40)), "40 us");
  EXPECT_EQ(HumanDuration(absl::Milliseconds(340)), "340 ms");
  EXPECT_EQ(HumanDuration(absl::Milliseconds(12345)), "12.3 s");
  EXPECT_EQ(HumanDuration(absl::Seconds(30)), "30 s");
  EXPECT_EQ(HumanDuration(absl::Milliseconds(59999)), "59.9 s");
  EXPECT_EQ(HumanDuration(absl::Seconds(250)), "4 min 10 s");
  EXPECT_EQ(HumanDuration(absl::Hours(2)), "2 h");
  EXPECT_EQ(HumanDuration(absl::Hours(49)), "2 d 1 h");
  EXPECT_EQ(HumanDuration(absl::InfiniteDuration()), "for ever");
}

TEST(HumanBytesTest, UsesBinaryUnits) {
  EXPECT_EQ(HumanBytes(512), "512 B");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_EQ(HumanBytes(uint64_t{12} << 30), "12 GiB");
}

TEST(NearestTest, FindsWhatWasMeant) {
  const std::vector<std::string> commands = {"logs", "lend", "run", "runs", "status", "nodes"};
  EXPECT_EQ(Nearest("lgos", commands), "logs");
  EXPECT_EQ(Nearest("lgs", commands), "logs");
  EXPECT_EQ(Nearest("Status", commands), "status");
  EXPECT_EQ(Nearest("ndoes", commands), "nodes");
  EXPECT_EQ(Nearest("banana", commands), "");
  EXPECT_EQ(Nearest("node", {"mode", "nodes"}), "nodes") << "it was not typed to its end";
}

TEST(WordsTest, ReadAsASentence) {
  EXPECT_EQ(JoinWords({}), "");
  EXPECT_EQ(JoinWords({"pc1"}), "pc1");
  EXPECT_EQ(JoinWords({"pc1", "pc2", "pc3"}), "pc1, pc2 and pc3");
  EXPECT_EQ(JoinSome({"pc1", "pc2", "pc3"}, 3), "pc1, pc2 and pc3");
  EXPECT_EQ(JoinSome({"pc1", "pc2", "pc3"}, 2), "pc1, pc2 and 1 more");
  EXPECT_EQ(DoneBy("held", "anna"), "held by anna");
  EXPECT_EQ(DoneBy("held", ""), "held");
  EXPECT_EQ(Count(1, "node"), "1 node");
  EXPECT_EQ(Count(3, "node"), "3 nodes");
}

}  // namespace
}  // namespace hpc
