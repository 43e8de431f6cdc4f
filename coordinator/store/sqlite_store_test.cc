// What is committed is read back unchanged, by the same store and by the next one.
#include "coordinator/store/sqlite_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/status_matchers.h"
#include "coordinator/store/store_reader.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using testing::At;
using ::testing::ElementsAre;
using testing::FullAttempt;
using testing::FullNode;
using testing::FullProgram;
using testing::FullRun;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeAttempt;
using testing::MakeEvent;
using testing::MakeNode;
using testing::MakePlacement;
using testing::MakeProgram;
using testing::MakeRank;
using testing::MakeRun;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::TempDir;

class SqliteStoreTest : public ::testing::Test {
 protected:
  SqliteStoreTest() { Reopen(); }

  void Reopen() {
    reader_ = nullptr;
    store_ = nullptr;
    absl::StatusOr<std::unique_ptr<Store>> opened = OpenSqliteStore(dir_.File("hpc.db"));
    ASSERT_OK(opened);
    store_ = *std::move(opened);
    reader_ = *store_->OpenReader();
  }

  void Commit(WriteBatch batch) { ASSERT_OK(store_->Commit(batch)); }

  // A run with one attempt on pc1, as a base for records that belong to one.
  void CommitAttempt(AttemptRef ref) {
    RunRecord run = MakeRun(ref.run);
    run.state = RunState::kRunning;
    run.attempts = ref.number;
    Commit({.changes = {run, MakeNode("pc1"), MakeAttempt(ref)},
            .programs = {{ref.run, MakeProgram()}}});
  }

  TempDir dir_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<StoreReader> reader_;
};

TEST_F(SqliteStoreTest, KeepsTheNewestReadingOfTheClocks) {
  EXPECT_EQ(*store_->LoadClock(), std::nullopt);
  for (const int second : {3, 2}) {
    WriteBatch batch{.changes = {MakeEvent(second)}};
    batch.clock = ClockReading{"boot", At(second)};
    ASSERT_OK(store_->Commit(batch));
  }
  ASSERT_OK(store_->Commit({.changes = {MakeEvent(9)}}));
  EXPECT_EQ(*store_->LoadClock(), (ClockReading{"boot", At(2)}));
}

TEST_F(SqliteStoreTest, BeginsEmpty) {
  const Snapshot snapshot = *store_->Load();
  EXPECT_EQ(snapshot.last_run, 0);
  EXPECT_EQ(snapshot.last_event, 0);
  EXPECT_THAT(snapshot.runs, IsEmpty());
  EXPECT_THAT(snapshot.nodes, IsEmpty());
  EXPECT_THAT(*reader_->ListRuns({}), IsEmpty());
  EXPECT_THAT(*reader_->ListExperiments(), IsEmpty());
}

TEST_F(SqliteStoreTest, ANodeThatIsForgottenStaysTheNameOfWhereRunsRan) {
  CommitAttempt({1, 1});
  NodeRecord node = MakeNode("pc1");
  node.forgotten = true;
  Commit({.changes = {MakePlacement({1, 1}, "pc1", 0), node}});
  EXPECT_THAT(store_->Load()->nodes, IsEmpty());
  EXPECT_EQ(reader_->GetRun(1)->placements[0].node, "pc1");
  Commit({.changes = {MakeNode("pc1")}});
  EXPECT_THAT(store_->Load()->nodes, ElementsAre(MakeNode("pc1"))) << "it has joined again";
}

TEST_F(SqliteStoreTest, KeepsEveryMemberOfARun) {
  RunRecord run = FullRun(7);
  run.request.after = 3;
  Commit({.changes = {MakeRun(3), run}, .programs = {{7, FullProgram()}}});
  Reopen();
  EXPECT_EQ(*store_->GetRunRecord(7), run);
  EXPECT_EQ(*store_->GetProgram(7), FullProgram());
  EXPECT_EQ(*store_->GetRunRecord(3), MakeRun(3));
}

TEST_F(SqliteStoreTest, ReplacesARunThatChanged) {
  RunRecord run = MakeRun(1);
  Commit({.changes = {run}, .programs = {{1, MakeProgram()}}});
  RunRecord changed = FullRun(1);
  Commit({.changes = {changed}});
  EXPECT_EQ(*store_->GetRunRecord(1), changed);
}

TEST_F(SqliteStoreTest, KeepsTenMegabytesOfArguments) {
  RunProgram program = MakeProgram();
  program.command.push_back(std::string(10 << 20, 'x'));
  program.command.push_back("");
  Commit({.changes = {MakeRun(1)}, .programs = {{1, program}}});
  EXPECT_EQ(*store_->GetProgram(1), program);
}

TEST_F(SqliteStoreTest, StoresTextThatIsNotUtf8WithReplacementCharacters) {
  RunProgram program = MakeProgram();
  program.command = {"a\xff", std::string("b\0c", 3)};
  Commit({.changes = {MakeRun(1)}, .programs = {{1, program}}});
  EXPECT_THAT(store_->GetProgram(1)->command, ElementsAre("a\uFFFD", std::string("b\0c", 3)));
}

TEST_F(SqliteStoreTest, ARunWithoutExperimentBelongsToDefault) {
  RunRecord run = MakeRun(1);
  run.request.experiment = "";
  Commit({.changes = {run}});
  EXPECT_EQ(store_->GetRunRecord(1)->request.experiment, "default");
}

TEST_F(SqliteStoreTest, KeepsEveryMemberOfAttemptPlacementRankAndNode) {
  const AttemptRef first{1, 1}, second{1, 2};
  RunRecord run = MakeRun(1);
  run.state = RunState::kRunning;
  RankRecord exited = MakeRank(first, 0, "pc1");
  exited.ended_from = At(49);
  exited.ended_at = At(50);
  exited.exit =
      protocol::RankExit{.exit_code = 1, .after_stop = false, .message = "boom", .traceback = "T"};
  RankRecord killed = MakeRank(first, 1, "pc2");
  killed.exit = protocol::RankExit{
      .signal = 9, .after_stop = true, .words_before_end = absl::Milliseconds(1200)};
  RankRecord unknown = MakeRank(first, 2, "pc2");
  unknown.exit = protocol::RankExit{};
  const RankRecord running = MakeRank(second, 0, "pc1");
  const EnvironmentRecord environment = {
      .ref = second, .node = "pc1", .facts = {{"torch", "2.13.0"}}, .added = {{"RANK", "0"}}};
  const LogStreamRecord log = {
      .ref = first, .rank = 1, .is_stderr = true, .bytes = 10, .cut_bytes = 3};
  // The order is one in which no record finds what it refers to.
  Commit(
      {.changes = {running, exited, killed, unknown, MakePlacement(second, "pc1", 0),
                   MakePlacement(first, "pc1", 1), MakePlacement(first, "pc2", 0),
                   FullAttempt(first), MakeAttempt(second), run, FullNode("pc1"), MakeNode("pc2")},
       .programs = {{1, MakeProgram()}},
       .environments = {environment},
       .log_streams = {log}});
  Reopen();

  const RunDetail detail = *reader_->GetRun(1);
  EXPECT_EQ(detail.record, run);
  EXPECT_EQ(detail.program, MakeProgram());
  EXPECT_THAT(detail.attempts, ElementsAre(FullAttempt(first), MakeAttempt(second)));
  EXPECT_THAT(detail.placements,
              ElementsAre(MakePlacement(first, "pc2", 0), MakePlacement(first, "pc1", 1),
                          MakePlacement(second, "pc1", 0)));
  EXPECT_THAT(detail.ranks, ElementsAre(exited, killed, unknown, running));
  EXPECT_THAT(detail.environments, ElementsAre(environment));
  EXPECT_THAT(detail.log_streams, ElementsAre(log));
  EXPECT_THAT(store_->Load()->nodes, ElementsAre(FullNode("pc1"), MakeNode("pc2")));
}

TEST_F(SqliteStoreTest, LoadsWhatIsNotOverAndTheHighestNumbers) {
  RunRecord over = MakeRun(3);
  over.state = RunState::kFailed;
  RunRecord running = MakeRun(1);
  running.state = RunState::kRunning;
  running.attempts = 2;
  AttemptRecord ended = MakeAttempt({1, 1});
  ended.state = AttemptState::kEnded;
  AttemptRecord of_over = MakeAttempt({3, 1});
  const AttemptRecord live = MakeAttempt({1, 2});
  Commit({.changes = {MakeNode("pc1"), running, MakeRun(2), over, ended, live, of_over,
                      MakePlacement({1, 1}, "pc1", 0), MakePlacement({1, 2}, "pc1", 0),
                      MakeRank({1, 1}, 0, "pc1"), MakeRank({1, 2}, 0, "pc1"), MakeEvent(41)}});
  Reopen();
  const Snapshot snapshot = *store_->Load();
  EXPECT_EQ(snapshot.last_run, 3);
  EXPECT_EQ(snapshot.last_event, 41);
  EXPECT_THAT(snapshot.runs, ElementsAre(running, MakeRun(2)));
  EXPECT_THAT(snapshot.attempts, ElementsAre(live));
  EXPECT_THAT(snapshot.placements, ElementsAre(MakePlacement({1, 2}, "pc1", 0)));
  EXPECT_THAT(snapshot.ranks, ElementsAre(MakeRank({1, 2}, 0, "pc1")));
}

TEST_F(SqliteStoreTest, KeepsEveryMemberOfAnEvent) {
  EventRecord event = MakeEvent(5);
  event.severity = Severity::kError;
  event.run = 9;
  event.attempt = 2;
  event.node = "pc1";
  event.rank = 0;
  Commit({.changes = {MakeEvent(4), event}});
  EXPECT_THAT(*reader_->ListEvents({}), ElementsAre(MakeEvent(4), event));
}

TEST_F(SqliteStoreTest, ListsEventsByCursorRunAndNode) {
  WriteBatch batch;
  for (EventId id = 1; id <= 6; ++id) {
    EventRecord event = MakeEvent(id);
    event.run = id % 2;
    event.node = id % 3 == 0 ? "pc3" : "";
    batch.changes.push_back(event);
  }
  Commit(batch);
  const auto ids = [&](const EventFilter& filter) {
    std::vector<EventId> found;
    const std::vector<EventRecord> events = *reader_->ListEvents(filter);
    for (const EventRecord& event : events) found.push_back(event.id);
    return found;
  };
  EXPECT_THAT(ids({.after = 4}), ElementsAre(5, 6));
  EXPECT_THAT(ids({.run = 1}), ElementsAre(1, 3, 5));
  EXPECT_THAT(ids({.node = "pc3"}), ElementsAre(3, 6));
  EXPECT_THAT(ids({.run = 1, .node = "pc3"}), ElementsAre(3));
  EXPECT_THAT(ids({.limit = 2}), ElementsAre(1, 2));
  EXPECT_THAT(ids({.limit = 2, .newest = true}), ElementsAre(5, 6));
  EXPECT_THAT(ids({.after = 1, .limit = 0}), ElementsAre(2, 3, 4, 5, 6));
}

TEST_F(SqliteStoreTest, AnEventIsNeverReplaced) {
  Commit({.changes = {MakeEvent(1)}});
  EventRecord again = MakeEvent(1);
  again.text = "something else";
  EXPECT_THAT(store_->Commit({.changes = {again}}), StatusIs(absl::StatusCode::kInternal, _));
  EXPECT_THAT(*reader_->ListEvents({}), ElementsAre(MakeEvent(1)));
}

TEST_F(SqliteStoreTest, NothingOfABatchThatFailsIsStored) {
  const MetricPoint of_unknown_run = {.ref = {8, 1}, .key = "loss"};
  const absl::Status refused =
      store_->Commit({.changes = {MakeRun(1), MakeEvent(1)}, .metrics = {of_unknown_run}});
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInternal, HasSubstr("FOREIGN KEY")));
  EXPECT_THAT(*reader_->ListRuns({}), IsEmpty());
  EXPECT_THAT(*reader_->ListEvents({}), IsEmpty());
  Commit({.changes = {MakeRun(1), MakeEvent(1)}});
  EXPECT_THAT(*reader_->ListRuns({}), SizeIs(1));
}

TEST_F(SqliteStoreTest, FindsARunByItsRequest) {
  RunProgram program = MakeProgram();
  program.request_id = "abc";
  Commit({.changes = {MakeRun(1), MakeRun(2), MakeRun(3)},
          .programs = {{1, MakeProgram()}, {2, program}, {3, MakeProgram()}}});
  EXPECT_EQ(*store_->FindRequest("abc"), 2);
  EXPECT_THAT(store_->FindRequest("abd"), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(store_->FindRequest(""), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(SqliteStoreTest, ARequestBelongsToOneRunOnly) {
  RunProgram program = MakeProgram();
  program.request_id = "abc";
  Commit({.changes = {MakeRun(1)}, .programs = {{1, program}}});
  EXPECT_THAT(store_->Commit({.changes = {MakeRun(2)}, .programs = {{2, program}}}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("request_id")));
  EXPECT_THAT(store_->GetRunRecord(2), StatusIs(absl::StatusCode::kNotFound, _));
}

TEST_F(SqliteStoreTest, UnknownRunsAreNotFound) {
  EXPECT_THAT(reader_->GetRun(12), StatusIs(absl::StatusCode::kNotFound, "there is no run 12"));
  EXPECT_THAT(store_->GetRunRecord(12), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(store_->GetProgram(12), StatusIs(absl::StatusCode::kNotFound, _));
  EXPECT_THAT(*reader_->SummarizeMetrics(12), IsEmpty());
  EXPECT_THAT(*reader_->LogSegments(12), IsEmpty());
}

TEST_F(SqliteStoreTest, ListsRunsNewestFirstByEachFilter) {
  WriteBatch batch;
  for (RunId id = 1; id <= 6; ++id) {
    RunRecord run = MakeRun(id);
    if (id % 2 == 0) run.state = RunState::kFailed;
    if (id == 5) run.state = RunState::kRunning;
    if (id > 3) run.request.experiment = "sweep";
    RunProgram program = MakeProgram();
    program.command = {"train", std::to_string(id)};
    if (id == 2 || id == 4) program.tags = {"x", "best"};
    batch.changes.push_back(run);
    batch.programs.push_back({id, program});
  }
  Commit(batch);
  const auto ids = [&](const RunFilter& filter) {
    std::vector<RunId> found;
    const std::vector<RunRow> rows = *reader_->ListRuns(filter);
    for (const RunRow& row : rows) found.push_back(row.record.id);
    return found;
  };
  EXPECT_THAT(ids({}), ElementsAre(6, 5, 4, 3, 2, 1));
  EXPECT_THAT(ids({.limit = 2}), ElementsAre(6, 5));
  EXPECT_THAT(ids({.before = 3}), ElementsAre(2, 1));
  EXPECT_THAT(ids({.before = 6, .above = 3}), ElementsAre(5, 4));
  EXPECT_THAT(ids({.states = {RunState::kFailed}}), ElementsAre(6, 4, 2));
  EXPECT_THAT(ids({.states = {RunState::kQueued, RunState::kRunning}}), ElementsAre(5, 3, 1));
  EXPECT_THAT(ids({.states = {RunState::kRunning, RunState::kFailed}, .limit = 2}),
              ElementsAre(6, 5));
  EXPECT_THAT(ids({.experiment = "sweep"}), ElementsAre(6, 5, 4));
  EXPECT_THAT(ids({.tag = "best"}), ElementsAre(4, 2));
  EXPECT_THAT(ids({.states = {RunState::kFailed},
                   .experiment = "sweep",
                   .tag = "best",
                   .before = 5,
                   .limit = 9}),
              ElementsAre(4));
  EXPECT_THAT(reader_->ListRuns({})->front().extras.command, ElementsAre("train", "6"));
  EXPECT_THAT(reader_->ListRuns({.parts = {.command = false}})->front().extras.command, IsEmpty());
}

TEST_F(SqliteStoreTest, AListedRunIsWhatWasStoredAsFarAsItIsShown) {
  const RunRecord run = FullRun(1);
  Commit({.changes = {run}, .programs = {{1, MakeProgram()}}});
  RunRecord shown = run;
  shown.request = RunRequest();
  shown.request.name = run.request.name;
  shown.request.experiment = run.request.experiment;
  shown.request.user = run.request.user;
  shown.request.min_nodes = run.request.min_nodes;
  shown.request.max_nodes = run.request.max_nodes;
  shown.request.priority = run.request.priority;
  shown.retry_at = absl::InfinitePast();
  shown.leave_asleep.clear();
  shown.refused_by.clear();
  EXPECT_EQ(reader_->ListRuns({})->front().record, shown);
}

TEST_F(SqliteStoreTest, AListedRunHasTheNodesOfItsNewestAttempt) {
  RunRecord run = MakeRun(1);
  run.attempts = 2;
  Commit({.changes = {run, MakeNode("pc1"), MakeNode("pc2"), MakeNode("pc3"), MakeAttempt({1, 1}),
                      MakeAttempt({1, 2}), MakePlacement({1, 1}, "pc3", 0),
                      MakePlacement({1, 2}, "pc2", 0), MakePlacement({1, 2}, "pc1", 1)},
          .programs = {{1, MakeProgram()}}});
  EXPECT_THAT(reader_->ListRuns({})->front().extras.nodes, ElementsAre("pc2", "pc1"));
}

TEST_F(SqliteStoreTest, AListedRunHasItsResultsWhereTheyAreAskedFor) {
  CommitAttempt({1, 1});
  CommitAttempt({2, 1});
  RunProgram program = MakeProgram();
  program.params = {{"lr", "0.1"}, {"batch", "32"}};
  Commit({.changes = {MakeRun(3)}, .programs = {{3, program}}});
  Commit({.metrics = {{.ref = {1, 1}, .key = "loss", .step = 1, .value = 5},
                      {.ref = {1, 1}, .key = "loss", .step = 9, .value = 3},
                      {.ref = {1, 1}, .key = "acc", .step = 9, .value = 0.5}}});
  EXPECT_THAT(reader_->ListRuns({})->front().extras.params, IsEmpty());
  EXPECT_THAT(reader_->ListRuns({})->back().extras.metrics, IsEmpty());

  const std::vector<RunRow> rows = *reader_->ListRuns({.parts = {.results = true}});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_THAT(rows[0].extras.params, ElementsAre(Pair("lr", "0.1"), Pair("batch", "32")));
  EXPECT_THAT(rows[0].extras.metrics, IsEmpty());
  EXPECT_THAT(rows[1].extras.metrics, IsEmpty());
  ASSERT_THAT(rows[2].extras.metrics, SizeIs(2));
  EXPECT_EQ(rows[2].extras.metrics[0].key, "acc");
  EXPECT_EQ(rows[2].extras.metrics[1].key, "loss");
  EXPECT_EQ(rows[2].extras.metrics[1].last, 3);
  EXPECT_EQ(rows[2].extras.metrics[1].last_step, 9);
  EXPECT_EQ(rows[2].extras.metrics[1].max, 5);
}

TEST_F(SqliteStoreTest, AnExperimentBeginsWithItsFirstRun) {
  RunRecord third = MakeRun(3);
  third.request.experiment = "sweep";
  Commit({.changes = {MakeRun(1), MakeRun(2), third}});
  const std::vector<ExperimentRow> rows = *reader_->ListExperiments();
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].name, "sweep");
  EXPECT_EQ(rows[0].runs, 1);
  EXPECT_EQ(rows[1].name, "default");
  EXPECT_EQ(rows[1].runs, 2);
  EXPECT_EQ(rows[1].created_at, At(1));
  EXPECT_EQ(rows[1].last_run_at, At(2));
}

TEST_F(SqliteStoreTest, KeepsMetricsOfAnyValueInTheirOrder) {
  CommitAttempt({1, 1});
  CommitAttempt({2, 1});
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double tiny = std::numeric_limits<double>::denorm_min();
  WriteBatch batch;
  for (const double value : {0.25, nan, inf, -inf, tiny, -0.0}) {
    batch.metrics.push_back(
        {.ref = {1, 1}, .rank = 3, .key = "loss", .step = -5, .value = value, .at = At(9)});
  }
  batch.metrics.push_back({.ref = {2, 1}, .key = "loss", .value = 8});
  batch.metrics.push_back({.ref = {1, 1}, .key = "acc", .value = 1});
  Commit(batch);
  Commit({.metrics = {{.ref = {1, 1}, .key = "loss", .value = 7}}});
  Reopen();

  const std::vector<MetricRow> loss = *reader_->ListMetrics({.run = 1, .key = "loss"});
  ASSERT_THAT(loss, SizeIs(7));
  EXPECT_EQ(loss[0].point.value, 0.25);
  EXPECT_EQ(loss[0].point.ref, (AttemptRef{1, 1}));
  EXPECT_EQ(loss[0].point.rank, 3);
  EXPECT_EQ(loss[0].point.key, "loss");
  EXPECT_EQ(loss[0].point.step, -5);
  EXPECT_EQ(loss[0].point.at, At(9));
  EXPECT_TRUE(std::isnan(loss[1].point.value));
  EXPECT_EQ(loss[2].point.value, inf);
  EXPECT_EQ(loss[3].point.value, -inf);
  EXPECT_EQ(loss[4].point.value, tiny);
  EXPECT_EQ(loss[5].point.value, 0);
  EXPECT_EQ(loss[6].point.value, 7);

  std::vector<std::string> keys;
  const std::vector<MetricRow> rest = *reader_->ListMetrics({.run = 1, .after_row = 5});
  for (const MetricRow& row : rest) keys.push_back(row.point.key);
  EXPECT_THAT(keys, ElementsAre("loss", "acc", "loss"));
  EXPECT_THAT(*reader_->ListMetrics({.run = 1, .after_row = loss[6].row}), IsEmpty());
  EXPECT_THAT(
      *reader_->ListMetrics({.run = 1, .key = "loss", .after_row = loss[1].row, .limit = 2}),
      SizeIs(2));
}

TEST_F(SqliteStoreTest, SummarizesEachKeyOverAllBatches) {
  CommitAttempt({1, 1});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto point = [](const std::string& key, int64_t step, double value) {
    return MetricPoint{.ref = {1, 1}, .key = key, .step = step, .value = value};
  };
  Commit({.metrics = {point("loss", 1, 5), point("loss", 2, nan), point("bad", 1, nan)}});
  Reopen();
  Commit({.metrics = {point("loss", 3, 2), point("loss", 4, 3)}});
  const std::vector<MetricSummary> summaries = *reader_->SummarizeMetrics(1);
  ASSERT_THAT(summaries, SizeIs(2));
  EXPECT_EQ(summaries[0].key, "bad");
  EXPECT_EQ(summaries[0].points, 1);
  EXPECT_TRUE(std::isnan(summaries[0].last));
  EXPECT_TRUE(std::isnan(summaries[0].min));
  EXPECT_EQ(summaries[1].key, "loss");
  EXPECT_EQ(summaries[1].points, 4);
  EXPECT_EQ(summaries[1].last_step, 4);
  EXPECT_EQ(summaries[1].last, 3);
  EXPECT_EQ(summaries[1].min, 2);
  EXPECT_EQ(summaries[1].max, 5);
}

TEST_F(SqliteStoreTest, KeepsTheOffsetsThatComeWithMetrics) {
  CommitAttempt({1, 2});
  const MetricOffset first = {.ref = {1, 2}, .rank = 0, .offset = 100};
  const MetricOffset later = {.ref = {1, 2}, .rank = 0, .offset = 300};
  const MetricOffset other = {.ref = {1, 2}, .rank = 1, .offset = 50};
  Commit({.metric_offsets = {first, other}});
  Commit({.metric_offsets = {later}});
  EXPECT_THAT(*store_->MetricOffsets(1), ElementsAre(later, other));
  EXPECT_THAT(*store_->MetricOffsets(2), IsEmpty());
}

TEST_F(SqliteStoreTest, KeepsTheIndexOfLogs) {
  Commit({.changes = {MakeRun(1)}});
  const LogSegmentRecord live = {.run = 1, .first_position = 50, .bytes = 10, .stored_bytes = 10};
  const LogSegmentRecord sealed = {
      .run = 1, .first_position = 0, .bytes = 50, .stored_bytes = 20, .sealed = true};
  Commit({.log_segments = {live, sealed}});
  LogSegmentRecord longer = live;
  longer.bytes = longer.stored_bytes = 30;
  Commit({.log_segments = {longer}});
  EXPECT_THAT(*reader_->LogSegments(1), ElementsAre(sealed, longer));
}

}  // namespace
}  // namespace hpc::coordinator
