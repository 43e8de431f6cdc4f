// What the engine reads for clients, and a store that cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <vector>

#include "common/status_matchers.h"
#include "coordinator/runtime/testing/engine_test_fixture.h"
#include "coordinator/store/testing/forwarding_store.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;
using testing::EngineTest;
using testing::ForwardingStore;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeProgram;
using testing::OneNode;
using ::testing::SizeIs;

// A store whose disk has become full.
class FullStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  absl::Status Commit(const WriteBatch&) override {
    return absl::ResourceExhaustedError("no space left on device");
  }
};

TEST_F(EngineTest, WhoReadsFindsReportsThatNobodyWaitedForUntilThen) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  std::optional<RunState> read;
  rig_.engine->Read([ref](StoreReader& reader) { return reader.GetRun(ref.run); },
                    [&](const absl::StatusOr<RunDetail>& run) { read = run->record.state; });
  EXPECT_TRUE(rig_.FinishReads());
  EXPECT_EQ(read, RunState::kRunning);
}

TEST_F(EngineTest, ALongReadOfMetricsDelaysNoHeartbeatAndNoSubmission) {
  const Session session = rig_.Connect("pc1", &link_);
  const AttemptRef ref = rig_.RunOn(session, &link_);
  const MetricPoint point{ref, 0, "loss", 1, 0.5, rig_.clock.Get().wall};
  EXPECT_OK(rig_.engine->OnMetrics(session, {.offset = {ref, 0, 20}, .points = {point}}));
  rig_.clock.Advance(absl::Milliseconds(50));
  EXPECT_OK(rig_.engine->Flush());

  std::promise<void> go_on;
  std::vector<MetricRow> read;
  rig_.engine->Read(
      [&, ref](StoreReader& reader) {
        auto rows = reader.ListMetrics({.run = ref.run});
        go_on.get_future().wait();
        return rows;
      },
      [&](absl::StatusOr<std::vector<MetricRow>> rows) { read = *std::move(rows); });
  for (int i = 0; i < 3; ++i) {
    rig_.clock.Advance(absl::Minutes(40));  // the lease is an hour
    EXPECT_OK(rig_.engine->OnReport(session, protocol::Heartbeat{}));
    EXPECT_OK(rig_.engine->Flush());
  }
  EXPECT_EQ(rig_.engine->cluster().GetTotals().nodes_connected, 1);
  EXPECT_EQ(rig_.StateOf(rig_.SubmitOk()), RunState::kQueued);
  EXPECT_TRUE(rig_.engine->reading());
  EXPECT_THAT(read, IsEmpty());

  go_on.set_value();
  EXPECT_TRUE(rig_.FinishReads());
  EXPECT_THAT(read, SizeIs(1));
}

TEST_F(EngineTest, WhoReadsIsToldThatWhatComesBeforeCouldNotBeWritten) {
  rig_.Connect("pc1", &link_);
  FullStore full(rig_.store.get());
  Engine engine(ClusterOptions(), *full.Load(), &rig_.clock, &full, rig_.logs.get(),
                rig_.secrets.get(), &rig_.wake_sender);
  EXPECT_OK(engine.BeginReads(rig_.inbox.post()));
  engine.Submit(OneNode(), MakeProgram(), [](const absl::StatusOr<RunId>&) {});
  engine.Read([](StoreReader& reader) { return reader.ListRuns({}); },
              [this](const absl::StatusOr<std::vector<RunRow>>& runs) {
                errors_.push_back(runs.status());
              });
  EXPECT_FALSE(engine.Flush().ok());
  EXPECT_THAT(errors_, ElementsAre(StatusIs(absl::StatusCode::kResourceExhausted, _)));
  EXPECT_FALSE(engine.reading());
}

TEST_F(EngineTest, WhatCannotBeStoredIsNotPromisedAndEndsTheDaemon) {
  rig_.Connect("pc1", &link_);
  FullStore full(rig_.store.get());
  Engine engine(ClusterOptions(), *full.Load(), &rig_.clock, &full, rig_.logs.get(),
                rig_.secrets.get(), &rig_.wake_sender);
  engine.Submit(OneNode(), MakeProgram(),
                [this](absl::StatusOr<RunId> run) { errors_.push_back(run.status()); });
  const auto is_full = StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("no space left"));
  EXPECT_THAT(engine.Flush(), is_full);
  EXPECT_THAT(errors_, ElementsAre(is_full));
  EXPECT_THAT(engine.Flush(), is_full);
}

}  // namespace
}  // namespace hpc::coordinator
