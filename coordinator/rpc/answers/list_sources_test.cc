#include "coordinator/rpc/answers/list_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/core/values/event_kinds.h"
#include "coordinator/rpc/answers/run_page.h"
#include "coordinator/rpc/convert/convert_run.h"
#include "coordinator/runtime/testing/engine_test_fixture.h"

namespace hpc::coordinator {
namespace {

using ::testing::ElementsAre;
using testing::EngineTest;
using ::testing::IsEmpty;
using ::testing::Not;

class RunsSourceTest : public EngineTest {
 protected:
  RunsSourceTest() { session_ = rig_.Connect("pc1", &link_); }

  void SubmitTo(const std::string& experiment, const std::string& tag) {
    RunRequest request = testing::OneNode();
    request.experiment = experiment;
    RunProgram program = testing::MakeProgram();
    program.request_id.clear();
    program.tags = {tag};
    rig_.engine->Submit(request, program, [](const absl::StatusOr<RunId>& run) { EXPECT_OK(run); });
  }

  // The first run runs and the others wait. Some, here and there, are over.
  void FillQueue(int runs, std::mt19937* random) {
    for (int i = 0; i < runs; ++i) {
      SubmitTo((*random)() % 2 == 0 ? "lr" : "depth", (*random)() % 2 == 0 ? "best" : "other");
    }
    EXPECT_OK(rig_.engine->Flush());
    rig_.Start(session_, {1, 1});
    for (RunId run = 2; run <= runs; ++run) {
      if ((*random)() % 3 != 0) continue;
      rig_.engine->Cancel(run, {"ada"}, [](const absl::Status& status) { EXPECT_OK(status); });
    }
    EXPECT_OK(rig_.engine->Flush());
  }

  // The next step of the source, once it has read what it needs.
  absl::StatusOr<Step> Next(RunsSource* source, v1::ListRunsResponse* message) {
    absl::StatusOr<Step> step = source->Next(message);
    while (step.ok() && *step == Step::kWait && rig_.FinishReads()) step = source->Next(message);
    return step;
  }

  // The listing as clients read it.
  std::vector<std::string> Listed(const RunFilter& filter) {
    RunsSource source(rig_.engine.get(), filter);
    source.OnOpen([] {});
    std::vector<std::string> listed;
    v1::ListRunsResponse message;
    absl::StatusOr<Step> step = Next(&source, &message);
    for (; step.ok() && *step == Step::kMessage; step = Next(&source, &message)) {
      for (const v1::Run& run : message.runs()) listed.push_back(run.ShortDebugString());
      message.Clear();
    }
    EXPECT_OK(step);
    return listed;
  }

  // The same listing, made only from what is stored.
  std::vector<std::string> Stored(const RunFilter& filter) {
    std::vector<std::string> listed;
    const std::vector<RunRow> rows = *rig_.reader->ListRuns(filter);
    for (const RunRow& row : rows) {
      v1::Run run;
      ToProto(row.record, row.extras, &run);
      ShowWait(*rig_.engine, &run);
      listed.push_back(run.ShortDebugString());
    }
    return listed;
  }

  Session session_;
};

RunFilter RandomFilter(std::mt19937* random, RunId newest) {
  RunFilter filter;
  for (const RunState state : {RunState::kQueued, RunState::kRunning, RunState::kCancelled}) {
    if ((*random)() % 3 == 0) filter.states.push_back(state);
  }
  if ((*random)() % 3 == 0) filter.experiment = "lr";
  if ((*random)() % 4 == 0) filter.tag = "best";
  if ((*random)() % 2 == 0) filter.before = static_cast<RunId>((*random)() % (newest + 2));
  if ((*random)() % 2 == 0) filter.limit = static_cast<int64_t>((*random)() % newest);
  filter.parts.command = (*random)() % 2 == 0;
  filter.parts.results = (*random)() % 2 == 0;
  return filter;
}

TEST_F(RunsSourceTest, RunsThatAreNotOverAreListedAsTheyAreStored) {
  constexpr uint32_t kSeed = 20261125;
  std::mt19937 random(kSeed);
  FillQueue(400, &random);
  EXPECT_THAT(Listed({}), Not(IsEmpty()));
  for (int i = 0; i < 200; ++i) {
    const RunFilter filter = RandomFilter(&random, 400);
    ASSERT_EQ(Listed(filter), Stored(filter)) << "seed " << kSeed << ", filter " << i;
  }
}

TEST_F(RunsSourceTest, ARunThatIsNotYetStoredIsStoredBeforeItIsListed) {
  SubmitTo("lr", "best");
  EXPECT_EQ(Listed({}).size(), 1);
  EXPECT_EQ(rig_.reader->ListRuns({})->size(), 1);
}

TEST_F(RunsSourceTest, WhatMovesWhileAPageIsReadIsListedOnceAsItWas) {
  for (int i = 0; i < 3; ++i) SubmitTo("lr", "best");
  EXPECT_OK(rig_.engine->Flush());
  rig_.engine->Note({event::kSecurityRefused, "a stranger", Severity::kWarning});
  RunsSource source(rig_.engine.get(), {.limit = 10});
  source.OnOpen([] {});
  v1::ListRunsResponse message;
  EXPECT_EQ(*source.Next(&message), Step::kWait);  // for the commit of that note
  rig_.engine->Cancel(2, {"ada"}, [](const absl::Status& status) { EXPECT_OK(status); });
  SubmitTo("lr", "best");
  EXPECT_EQ(*Next(&source, &message), Step::kMessage);
  std::vector<std::string> listed;
  for (const v1::Run& run : message.runs()) {
    listed.push_back(absl::StrCat(run.id(), " ", v1::RunState_Name(run.state())));
  }
  EXPECT_EQ(rig_.StateOf(2), RunState::kCancelled);
  EXPECT_THAT(listed,
              ElementsAre("3 RUN_STATE_QUEUED", "2 RUN_STATE_QUEUED", "1 RUN_STATE_STARTING"));
}

TEST_F(RunsSourceTest, AListingMayBeGivenUpWhileAPageIsRead) {
  SubmitTo("lr", "best");
  bool woken = false;
  {
    RunsSource source(rig_.engine.get(), {});
    source.OnOpen([&] { woken = true; });
    v1::ListRunsResponse message;
    EXPECT_EQ(*source.Next(&message), Step::kWait);
  }
  EXPECT_TRUE(rig_.FinishReads());
  EXPECT_FALSE(woken);
}

TEST_F(RunsSourceTest, AMessageIsFullBeforeItIsTooLong) {
  RunProgram program = testing::MakeProgram();
  program.request_id.clear();
  program.params = {{"text", std::string(60'000, 'x')}};
  for (int i = 0; i < 60; ++i) {
    rig_.engine->Submit(testing::OneNode(), program,
                        [](const absl::StatusOr<RunId>& run) { EXPECT_OK(run); });
  }
  RunsSource source(rig_.engine.get(), {.parts = {.results = true}});
  source.OnOpen([] {});
  int runs = 0;
  v1::ListRunsResponse message;
  while (*Next(&source, &message) == Step::kMessage) {
    runs += message.runs_size();
    for (const v1::Run& run : message.runs()) EXPECT_EQ(run.params_size(), 1);
    EXPECT_LT(message.ByteSizeLong(), 2 << 20);
    message.Clear();
  }
  EXPECT_EQ(runs, 60);
}

}  // namespace
}  // namespace hpc::coordinator
