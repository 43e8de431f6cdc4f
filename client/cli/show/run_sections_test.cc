#include "client/cli/show/run_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/input/run_options.h"
#include "common/status_matchers.h"

namespace hpc::client {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1'800'000'000'000'000;

void Add(google::protobuf::RepeatedPtrField<v1::KeyValue>* pairs, const char* key,
         const char* value) {
  pairs->Add()->set_key(key);
  pairs->rbegin()->set_value(value);
}

// Returns a run of two ranks on two nodes. The second rank failed.
v1::RunDetail Failed() {
  v1::RunDetail d;
  d.mutable_run()->set_id(12);
  d.mutable_run()->set_name("train.py");
  d.mutable_run()->set_state(v1::RUN_STATE_FAILED);
  d.mutable_run()->set_reason("rank 1 on pc2 exited with code 3");
  d.mutable_run()->set_exit_code(3);
  d.mutable_run()->set_failures(1);
  d.mutable_run()->set_losses(2);
  d.mutable_spec()->add_retry_exits(75);
  d.mutable_spec()->add_retry_exits(76);
  for (const char* word : {"python", "train.py", "it's"}) d.mutable_spec()->add_command(word);
  d.mutable_spec()->set_min_nodes(2);
  d.mutable_spec()->set_max_nodes(4);
  d.mutable_spec()->set_grow(v1::GROW_MODE_CHECKPOINT);
  d.mutable_spec()->set_time_limit_ms(7'200'000);
  Add(d.mutable_spec()->mutable_params(), "lr", "0.1");
  d.mutable_spec()->mutable_code()->set_repository("/home/ada/work");
  d.mutable_spec()->mutable_code()->set_commit("c0ffee");
  d.mutable_spec()->mutable_code()->set_dirty(true);
  d.mutable_spec()->mutable_code()->set_diff("+x");
  v1::Attempt* attempt = d.add_attempts();
  attempt->set_number(1);
  attempt->set_outcome("program-failed");
  attempt->set_reason("rank 1 failed first");
  attempt->set_placement_reason("the two free nodes");
  attempt->set_started_at_us(kNow - 90'000'000);
  attempt->set_ended_at_us(kNow - 30'000'000);
  v1::Placement* placement = d.add_placements();
  placement->set_attempt(1);
  placement->set_node("pc2");
  placement->add_devices(0);
  placement->add_devices(1);
  Add(placement->mutable_facts(), "torch", "2.13.0");
  Add(placement->mutable_added_env(), "GLOO_SOCKET_IFNAME", "eth0");
  v1::Placement* other = d.add_placements();
  other->set_attempt(1);
  other->set_node("pc3");
  other->set_first_rank(2);
  other->set_ranks(3);
  Add(other->mutable_facts(), "torch", "2.13.0");
  Add(other->mutable_added_env(), "GLOO_SOCKET_IFNAME", "eth1");
  v1::Rank* rank = d.add_ranks();
  rank->set_attempt(1);
  rank->set_rank(1);
  rank->set_node("pc2");
  rank->mutable_exit()->set_exit_code(3);
  rank->mutable_exit()->set_message("starting\nValueError: bad shape\n");
  rank->mutable_exit()->set_traceback("Traceback:\n  train.py line 12");
  v1::MetricSummary* metric = d.add_metrics();
  metric->set_key("loss");
  metric->set_last(std::nan(""));
  v1::LogStream* log = d.add_log_streams();
  log->set_attempt(1);
  log->set_is_stderr(true);
  log->set_bytes(2048);
  return d;
}

TEST(RunSectionsTest, PeopleReadTheWholeStory) {
  const std::string story = RunStory(Failed(), {.now_us = kNow});
  for (const char* text :
       {"Run           12\n",
        "State         failed\n",
        "rank 1 on pc2 exited with code 3",
        "Exit code     3\n",
        "Losses        2\n",
        "Retry exits   75, 76\n",
        "Command       python train.py 'it'\\''s'\n",
        "2:4",
        "Grows         checkpoint\n",
        "2 h\n",
        "lr=0.1",
        "c0ffee",
        "yes (--diff shows it)",
        "program-failed",
        "1 min  rank 1 failed first\n",
        "was placed so: the two free nodes",
        "0,1",
        "Attempt 1 on pc2 and pc3 ran with torch=2.13.0\n",
        "'hpcctl show 12 --env' lists",
        "code 3",
        "  ValueError: bad shape\n",
        "Traceback of rank 1 in attempt 1:\n  Traceback:\n    train.py line 12\n",
        "nan",
        "stderr",
        "2.0 KiB"}) {
    EXPECT_THAT(story, HasSubstr(text));
  }
}

// Returns what the option may be given: a word, a number or a time.
std::vector<std::string> SomeValues(const RunOption& option) {
  if (option.form == Form::kNumber) return {absl::StrCat(option.max)};
  if (option.form == Form::kSpan) return {"2h"};
  return absl::StrSplit(option.metavar, '|');
}

TEST(RunSectionsTest, EveryOrdinaryOptionIsShownAsItWasTyped) {
  for (const RunOption& option : AllRunOptions()) {
    if (option.to.get == nullptr) continue;
    for (const std::string& value : SomeValues(option)) {
      RunOptions run;
      run.spec.set_min_nodes(1);
      run.spec.set_max_nodes(2);
      ASSERT_OK(SetOption(option, option.names, value, &run));
      v1::RunDetail detail;
      *detail.mutable_spec() = run.spec;
      const std::string shown = option.form == Form::kSpan ? "2 h" : value;
      EXPECT_THAT(RunStory(detail, {.now_us = kNow}),
                  ContainsRegex(option.title + " +" + (option.title.empty() ? "" : shown + "\n")));
      const auto json = nlohmann::json::parse(RunStory(detail, {.json = true, .now_us = kNow}));
      const bool is_span = option.form == Form::kSpan;
      const auto& said = json["spec"][option.field + (is_span ? "_ms" : "")];
      EXPECT_EQ(said.is_string() ? said.get<std::string>() : said.dump(),
                is_span ? "7200000" : value);
    }
  }
}

TEST(RunSectionsTest, EmptySectionsAreLeftOut) {
  v1::RunDetail detail;
  detail.mutable_run()->set_id(1);
  detail.mutable_run()->set_state(v1::RUN_STATE_QUEUED);
  const std::string story = RunStory(detail, {.now_us = kNow});
  for (const char* text : {"Attempts", "Ranks", "Metrics", "Logs", "Exit code", "Repository"}) {
    EXPECT_THAT(story, Not(HasSubstr(text)));
  }
}

TEST(RunSectionsTest, ARunThatWaitsAgainTakesNoTime) {
  v1::RunDetail detail;
  detail.mutable_run()->set_state(v1::RUN_STATE_QUEUED);
  detail.mutable_run()->set_started_at_us(kNow - 8'000'000);
  EXPECT_THAT(RunStory(detail, {.now_us = kNow}), Not(HasSubstr("Took")));
  detail.mutable_run()->set_state(v1::RUN_STATE_RUNNING);
  EXPECT_THAT(RunStory(detail, {.now_us = kNow}), HasSubstr("Took          8 s\n"));
}

TEST(RunSectionsTest, VariablesAreListedWhenAskedFor) {
  EXPECT_THAT(RunStory(Failed(), {.now_us = kNow}), Not(HasSubstr("GLOO_SOCKET_IFNAME")));
  EXPECT_EQ(EnvironmentStory(Failed()),
            "Attempt 1 on pc2, rank 0\n"
            "  GLOO_SOCKET_IFNAME=eth0\n"
            "\n"
            "Attempt 1 on pc3, rank 2 to 4\n"
            "  GLOO_SOCKET_IFNAME=eth1\n");
}

TEST(RunSectionsTest, JsonHoldsTheSame) {
  const auto json = nlohmann::json::parse(RunStory(Failed(), {.json = true, .now_us = kNow}));
  EXPECT_EQ(json["run"]["id"], 12);
  EXPECT_EQ(json["run"]["state"], "failed");
  EXPECT_EQ(json["run"]["exit_code"], 3);
  EXPECT_EQ(json["run"]["failures"], 1);
  EXPECT_EQ(json["spec"]["command"], (std::vector<std::string>{"python", "train.py", "it's"}));
  EXPECT_EQ(json["spec"]["params"]["lr"], "0.1");
  EXPECT_EQ(json["spec"]["time_limit_ms"], 7'200'000);
  EXPECT_EQ(json["spec"]["code"]["diff"], "+x");
  EXPECT_EQ(json["attempts"][0]["outcome"], "program-failed");
  EXPECT_EQ(json["attempts"][0]["placement_reason"], "the two free nodes");
  EXPECT_EQ(json["placements"][0]["facts"]["torch"], "2.13.0");
  EXPECT_EQ(json["placements"][0]["added_env"]["GLOO_SOCKET_IFNAME"], "eth0");
  EXPECT_EQ(json["ranks"][0]["exit_code"], 3);
  EXPECT_EQ(json["ranks"][0]["message"], "starting\nValueError: bad shape\n");
  EXPECT_TRUE(json["ranks"][0]["signal"].is_null());
  EXPECT_EQ(json["metrics"][0]["last"], "NaN");
  EXPECT_EQ(json["logs"][0]["bytes"], 2048);
}

}  // namespace
}  // namespace hpc::client
