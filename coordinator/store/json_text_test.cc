#include "coordinator/store/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

TEST(JsonTextTest, ListsAreArrays) {
  EXPECT_EQ(ToJson(std::vector<std::string>{"a", "", "\"q\"\n"}), R"(["a","","\"q\"\n"])");
  EXPECT_EQ(ToJson(std::vector<std::string>{}), "[]");
  EXPECT_EQ(ToJson(std::vector<int32_t>{0, -1}), "[0,-1]");
  EXPECT_THAT(TextsFromJson(R"(["a","","\"q\"\n"])"), Optional(ElementsAre("a", "", "\"q\"\n")));
  EXPECT_THAT(IntsFromJson("[0,-1]"), Optional(ElementsAre(0, -1)));
}

TEST(JsonTextTest, ListsWithAndWithoutEscapesReadTheSame) {
  EXPECT_THAT(TextsFromJson(R"(["python","a, b","--x=[1]"])"),
              Optional(ElementsAre("python", "a, b", "--x=[1]")));
  EXPECT_THAT(TextsFromJson(R"(["a","b"])"), Optional(ElementsAre("a", "b")));
  EXPECT_THAT(TextsFromJson(R"([ "a", "b" ])"), Optional(ElementsAre("a", "b")));
  EXPECT_THAT(TextsFromJson(R"([""])"), Optional(ElementsAre("")));
  EXPECT_THAT(TextsFromJson(R"(["ä"])"), Optional(ElementsAre("ä")));
  for (const char* text : {R"(["])", R"(["a","])", R"(["a"b"])", R"(["a",""b"])", "[\"\n\"]"}) {
    EXPECT_EQ(TextsFromJson(text), std::nullopt) << text;
  }
}

TEST(JsonTextTest, MapsKeepOrderAndRepetition) {
  const TextPairs pairs = {{"Z", "1"}, {"A", "2"}, {"Z", "3"}, {"", ""}};
  EXPECT_EQ(ToJson(pairs), R"({"Z":"1","A":"2","Z":"3","":""})");
  EXPECT_THAT(PairsFromJson(ToJson(pairs)), Optional(pairs));
  EXPECT_THAT(PairsFromJson("{}"), Optional(TextPairs{}));
}

TEST(JsonTextTest, RefusesEveryOtherForm) {
  for (const char* text : {"", "[", "{}", "[1]", "[null]", "[[\"a\"]]", "\"a\"", "[\"a\"] x"}) {
    EXPECT_EQ(TextsFromJson(text), std::nullopt) << text;
  }
  for (const char* text : {"", "[]", "{\"a\":1}", "{\"a\":{\"b\":\"c\"}}", "{\"a\":[\"b\"]}"}) {
    EXPECT_EQ(PairsFromJson(text), std::nullopt) << text;
  }
  for (const char* text : {"", "{}", "[\"1\"]", "[1.5]"}) {
    EXPECT_EQ(IntsFromJson(text), std::nullopt) << text;
  }
  for (const char* text : {"{}", "[1]", R"([{"kind":"tpu"}])", R"([{"index":"0"}])"}) {
    EXPECT_EQ(DevicesFromJson(text), std::nullopt) << text;
  }
}

TEST(JsonTextTest, MembersMayComeAndGo) {
  const protocol::Device device = {.index = 3, .kind = protocol::DeviceKind::kGpu};
  EXPECT_THAT(DevicesFromJson(R"([{"index":3,"kind":"gpu","colour":"green"}])"),
              Optional(ElementsAre(device)));
}

TEST(JsonTextTest, OfAFailureOnlyTheRankIsWritten) {
  const CauseRecord failure = {.kind = CauseKind::kOwn, .rank = 2, .text = "bad shape"};
  EXPECT_EQ(ToJson(std::vector<CauseRecord>{failure}), R"([{"kind":"own","rank":2}])");
  for (const char* text : {"{}", "[{}]", R"([{"kind":"fate"}])", R"([{"kind":"own","rank":"2"}])",
                           R"([{"kind":"cluster","guessed":1}])"}) {
    EXPECT_EQ(CausesFromJson(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace hpc::coordinator
