#include "client/cli/input/submit_line.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/cli/input/usage_error.h"
#include "common/status_matchers.h"

namespace hpc::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(const std::string& line) {
  const absl::Status status = ParseSubmitLine(line).status();
  EXPECT_TRUE(IsUsageError(status)) << line << ": " << status;
  return std::string(status.message());
}

TEST(SubmitLineTest, EveryFieldIsRead) {
  const auto run = ParseSubmitLine(R"({
    "command": ["python", "train.py"], "nodes": "2:4", "ranks_per_node": 2, "gpus_per_node": 0,
    "nodelist": ["pc1"], "exclude": ["pc2"], "mode": "per-node", "grow": "never",
    "store": "worker",
    "legacy_local_rank": "dash", "name": "n", "experiment": "e",
    "params": {"lr": 0.5, "deep": true, "note": "a b"}, "tags": ["t"], "env": {"A": "1"},
    "env_all": true, "hold": true, "priority": -3, "after": 9000000000, "time_limit": "2h", "stop_grace": 5,
    "max_restarts": 1, "retry_exits": [75, 76], "workdir": "/srv"})");
  ASSERT_OK(run);
  EXPECT_THAT(run->command, ElementsAre("python", "train.py"));
  EXPECT_EQ(run->spec.min_nodes(), 2);
  EXPECT_EQ(run->spec.max_nodes(), 4);
  EXPECT_EQ(run->spec.ranks_per_node(), 2);
  EXPECT_TRUE(run->spec.has_gpus_per_node());
  EXPECT_THAT(run->spec.node_list(), ElementsAre("pc1"));
  EXPECT_THAT(run->spec.exclude(), ElementsAre("pc2"));
  EXPECT_EQ(run->spec.mode(), v1::LAUNCH_MODE_PER_NODE);
  EXPECT_EQ(run->spec.grow(), v1::GROW_MODE_NEVER);
  EXPECT_EQ(run->spec.store_host(), v1::STORE_HOST_WORKER);
  EXPECT_EQ(run->spec.legacy_local_rank(), v1::LEGACY_LOCAL_RANK_DASH);
  EXPECT_EQ(run->spec.name(), "n");
  EXPECT_EQ(run->spec.experiment(), "e");
  ASSERT_EQ(run->spec.params_size(), 3);
  EXPECT_EQ(run->spec.params(0).key(), "deep");
  EXPECT_EQ(run->spec.params(0).value(), "true");
  EXPECT_EQ(run->spec.params(1).value(), "0.5");
  EXPECT_EQ(run->spec.params(2).value(), "a b");
  EXPECT_THAT(run->spec.tags(), ElementsAre("t"));
  EXPECT_THAT(run->env, ElementsAre("A=1"));
  EXPECT_TRUE(run->env_all);
  EXPECT_TRUE(run->spec.hold());
  EXPECT_EQ(run->spec.priority(), -3);
  EXPECT_EQ(run->spec.after_run(), 9'000'000'000);
  EXPECT_EQ(run->spec.time_limit_ms(), 7'200'000);
  EXPECT_EQ(run->spec.stop_grace_ms(), 5'000);
  EXPECT_EQ(run->spec.max_restarts(), 1);
  EXPECT_THAT(run->spec.retry_exits(), ElementsAre(75, 76));
  EXPECT_EQ(run->spec.workdir(), "/srv");
}

TEST(SubmitLineTest, AnUnknownFieldIsNamedWithTheNearest) {
  EXPECT_EQ(ErrorOf(R"({"comand": ["true"]})"),
            "there is no field 'comand'. Did you mean 'command'?");
}

TEST(SubmitLineTest, WhatIsNoUtf8IsSaid) {
  EXPECT_THAT(ErrorOf("{\"name\": \"f\xfcr\"}"),
              HasSubstr("the line is not valid UTF-8 (byte 0xfc at 11)"));
}

TEST(SubmitLineTest, WhatIsNoObjectIsExplained) {
  for (const char* line : {"", "true", "[1]", "{", "python train.py"}) {
    EXPECT_THAT(ErrorOf(line), HasSubstr("not a JSON object; a line is as {\"command\":"));
  }
}

TEST(SubmitLineTest, WhatNestsTooDeepIsRefusedHoweverDeep) {
  const std::string open(300'000, '['), close(300'000, ']');
  EXPECT_THAT(ErrorOf(open), HasSubstr("nest more than 16 deep"));
  EXPECT_THAT(ErrorOf(open + close), HasSubstr("nest more than 16 deep"));
  EXPECT_THAT(ErrorOf("{\"command\": " + open + close + "}"), HasSubstr("nest more than 16 deep"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(ErrorOf(objects), HasSubstr("nest more than 16 deep"));
  EXPECT_THAT(ErrorOf(R"({"name": [[[[]]]]})"), HasSubstr("'name' takes a text, not [[[[]]]]"));
}

TEST(SubmitLineTest, ANameIsGivenOnceAndHasNoEqualsSign) {
  EXPECT_EQ(ErrorOf(R"({"name": "a", "name": "b"})"), "'name' is given twice");
  EXPECT_EQ(ErrorOf(R"({"env": {"A": "1", "A": "2"}})"), "'A' is given twice");
  EXPECT_OK(ParseSubmitLine(R"({"env": {"A": "1"}, "params": {"A": "2"}})"));
  EXPECT_EQ(ErrorOf(R"({"env": {"A=B": "1"}})"), "'env' has the name 'A=B', which contains '='");
}

TEST(SubmitLineTest, AWrongTypeIsNamedWithWhatTheFieldTakes) {
  EXPECT_EQ(ErrorOf(R"({"command": "python train.py"})"),
            "'command' takes an array of texts, not \"python train.py\"");
  EXPECT_THAT(ErrorOf(R"({"nodes": [2]})"), HasSubstr("as 4 or \"2:4\", not [2]"));
  EXPECT_THAT(ErrorOf(R"({"priority": 1.5})"),
              HasSubstr("'priority' takes a whole number from -1000 to 1000, not '1.5'"));
  EXPECT_THAT(ErrorOf(R"({"priority": 18446744073709551615})"), HasSubstr("'priority' takes"));
  for (const char* bad :
       {"18446744073709551615", "265.0", "null", "true", "-5", "\"last\"", "{}"}) {
    EXPECT_THAT(ErrorOf(absl::StrCat("{\"after\": ", bad, "}")), HasSubstr("'after' takes")) << bad;
  }
  EXPECT_THAT(ErrorOf(R"({"time_limit": "banana"})"), HasSubstr("'banana' is not a duration"));
  EXPECT_THAT(ErrorOf(R"({"params": {"a": [1]}})"), HasSubstr("'params.a' takes a plain value"));
  EXPECT_THAT(ErrorOf(R"({"mode": "torch"})"), HasSubstr("Did you mean 'torchrun'?"));
}

}  // namespace
}  // namespace hpc::client
