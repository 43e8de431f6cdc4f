#include "common/process/log.h"

#include <gtest/gtest.h>

namespace hpc {
namespace {

TEST(LogTest, WritesFieldsAsLogfmt) {
  EXPECT_EQ(FormatLogLine("node connected", {{"node", "pc1"}, {"port", 7077}}),
            "node connected node=pc1 port=7077");
}

TEST(LogTest, QuotesWhatWouldNotReadBack) {
  EXPECT_EQ(FormatLogLine("x", {{"a", "two words"}, {"b", ""}, {"c", "q\"q"}}),
            "x a=\"two words\" b=\"\" c=\"q\\\"q\"");
}

TEST(LogTest, KeepsOneCallOnOneLine) {
  EXPECT_EQ(FormatLogLine("a\nb", {{"k", "1\n2"}}), "a\\nb k=\"1\\n2\"");
}

TEST(LogTest, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(FormatLogLine("x", {{"k", "a \xff"}}), "x k=\"a \xEF\xBF\xBD\"");
}

TEST(LogTest, ReadsLevelsByName) {
  LogLevel level = LogLevel::kInfo;
  EXPECT_TRUE(ParseLogLevel("error", &level));
  EXPECT_EQ(level, LogLevel::kError);
  EXPECT_FALSE(ParseLogLevel("loud", &level));
  EXPECT_EQ(level, LogLevel::kError);
}

}  // namespace
}  // namespace hpc
