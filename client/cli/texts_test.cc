// Tests of times, suggestions, exit codes, progress and event lines: small things with literal
// answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/exit_codes.h"
#include "client/cli/forms/output.h"
#include "client/cli/forms/record.h"
#include "client/cli/forms/times.h"
#include "client/cli/input/foreign_words.h"
#include "client/cli/input/suggest.h"
#include "client/cli/input/usage_error.h"
#include "client/cli/show/event_lines.h"
#include "client/cli/show/progress.h"

namespace hpc::client {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kNow = 1'800'000'000 * kSecond;

std::string AgoSeconds(int64_t seconds) { return Ago(kNow - seconds * kSecond, kNow); }

TEST(TimesTest, AgesAreReadable) {
  EXPECT_EQ(AgoSeconds(0), "just now");
  EXPECT_EQ(AgoSeconds(12), "12 s ago");
  EXPECT_EQ(AgoSeconds(200), "3 min ago");
  EXPECT_EQ(AgoSeconds(2 * 3600), "2 h ago");
  EXPECT_EQ(AgoSeconds(30 * 3600), "30 h ago");
  EXPECT_EQ(AgoSeconds(4 * 86400), "4 d ago");
  EXPECT_EQ(AgoSeconds(-7200), "in 2 h");
  EXPECT_THAT(AgoSeconds(30 * 86400), HasSubstr("2026-12-1"));
  EXPECT_EQ(Ago(0, kNow), "-");
}

TEST(TimesTest, UtcKeepsMicroseconds) {
  EXPECT_EQ(UtcTime(1), "1970-01-01T00:00:00.000001Z");
  EXPECT_EQ(UtcTime(kNow + 42), "2027-01-15T08:00:00.000042Z");
}

TEST(TimesTest, WhatGoesOnIsCountedUntilNow) {
  EXPECT_EQ(Took(kNow - 90 * kSecond, 0, kNow), "1 min 30 s");
  EXPECT_EQ(Took(kNow - 90 * kSecond, kNow - 60 * kSecond, kNow), "30 s");
  EXPECT_EQ(Took(0, 0, kNow), "-");
}

TEST(RecordTest, ATimeThatIsFarAwayIsPrintedOnce) {
  constexpr int64_t kDayUs = int64_t{86'400} * 1'000'000, kNowUs = 20'000 * kDayUs;
  Record record({.json = false, .now_us = kNowUs});
  record.Time("near", "Near", kNowUs + 2 * kDayUs);
  record.Time("far", "Far", kNowUs + 80 * kDayUs);
  const std::string text = record.Finish();
  EXPECT_THAT(text, HasSubstr(LocalTime(kNowUs + 2 * kDayUs) + " (in 2 d)\n"));
  EXPECT_THAT(text, HasSubstr(LocalTime(kNowUs + 80 * kDayUs) + "\n"));
}

TEST(SuggestTest, TheOnlyOneThatBeginsSoElseTheNearest) {
  const std::vector<std::string> commands = {"run", "runs", "reclaim", "status", "show", "logs"};
  EXPECT_EQ(Suggest("stat", commands), "status");
  EXPECT_EQ(Suggest("lgos", commands), "logs");
  EXPECT_EQ(Suggest("rn", commands), "run");
  EXPECT_EQ(Suggest("frobnicate", commands), "");
  EXPECT_EQ(DidYouMean("xyz", commands), "");
}

TEST(UsageErrorTest, AnUnknownCommandIsNamedWithTheNearest) {
  EXPECT_EQ(usage::UnknownCommand("lgos", {"run", "logs"}).message(),
            "there is no command 'lgos'. Did you mean 'logs'? 'hpcctl help' lists all commands.");
}

TEST(UsageErrorTest, WhatOtherSystemsCallItIsUnderstood) {
  EXPECT_EQ(usage::UnknownCommand("squeue", {"run", "runs"}).message(),
            "there is no command 'squeue'. 'hpcctl runs' lists the runs. 'hpcctl help' lists all "
            "commands.");
  for (const char* command :
       {"jobs", "kill", "list", "ps", "sbatch", "scancel", "sinfo", "srun", "torchrun", "top"}) {
    EXPECT_NE(OursForCommand(command), "") << command;
  }
  EXPECT_THAT(std::string(usage::UnknownOption("run", "--nproc_per_node", {}).message()),
              HasSubstr("--ranks-per-node"));
  EXPECT_THAT(std::string(usage::UnknownOption("", "-n", {"--help"}).message()),
              HasSubstr("'hpcctl run -N 4 -- python train.py'"));
}

TEST(ExitCodesTest, ErrorsMapToDocumentedCodes) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(UsageError("x")), 2);
  EXPECT_EQ(ExitCodeOf(absl::UnavailableError("x")), 120);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("x")), 121);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("x")), 121);
  EXPECT_EQ(ExitCodeOf(absl::PermissionDeniedError("x")), 121);
  EXPECT_EQ(ExitCodeOf(absl::CancelledError("x")), 123);
}

int CodeOf(v1::RunState state, int exit_code) {
  v1::Run run;
  run.set_state(state);
  run.set_exit_code(exit_code);
  return ExitCodeOf(run);
}

TEST(ExitCodesTest, ARunsOwnCodeIsPassedOn) {
  EXPECT_EQ(CodeOf(v1::RUN_STATE_SUCCEEDED, 0), 0);
  EXPECT_EQ(CodeOf(v1::RUN_STATE_FAILED, 7), 7);
  EXPECT_EQ(CodeOf(v1::RUN_STATE_FAILED, 137), 137);
  EXPECT_EQ(CodeOf(v1::RUN_STATE_FAILED, 127), 127);
  EXPECT_EQ(CodeOf(v1::RUN_STATE_FAILED, 0), 1);
  EXPECT_EQ(CodeOf(v1::RUN_STATE_CANCELLED, 143), 122);
  EXPECT_EQ(CodeOf(v1::RUN_STATE_TIMED_OUT, 143), 124);
}

TEST(ProgressTest, ReplacesItselfAndDisappears) {
  Output terminal = Output::ToText(20);
  OpenLine ranks(/*shared=*/true);
  Progress progress(&terminal, &ranks);
  progress.Show("waiting\nfor 2 GPUs of pc1 and pc2");
  progress.Show("waiting\nfor 2 GPUs of pc1 and pc2");
  progress.Clear();
  progress.Clear();
  EXPECT_EQ(terminal.text(), "\r\x1b[Kwaiting for 2 GPUs \r\x1b[K");
}

TEST(ProgressTest, IsSilentInAPipe) {
  Output pipe = Output::ToText();
  OpenLine ranks(/*shared=*/true);
  Progress progress(&pipe, &ranks);
  progress.Show("waiting");
  progress.Clear();
  EXPECT_EQ(pipe.text(), "");
}

TEST(EventLinesTest, SaysWhenWhatAndWhere) {
  v1::Event event;
  event.set_id(5);
  event.set_at_us(kNow);
  event.set_severity(v1::SEVERITY_WARNING);
  event.set_kind("node.lost");
  event.set_run(12);
  event.set_attempt(2);
  event.set_node("pc2");
  event.set_text("pc2 fell silent");
  EXPECT_EQ(EventLine(event, {}),
            LocalTime(kNow) + "  run 12.2          pc2         pc2 fell silent\n");
  EXPECT_EQ(EventJson(event),
            R"({"id":5,"at":"2027-01-15T08:00:00.000000Z","severity":"warning","kind":"node.lost",)"
            R"("run":12,"attempt":2,"node":"pc2","rank":null,"text":"pc2 fell silent"})");
}

}  // namespace
}  // namespace hpc::client
