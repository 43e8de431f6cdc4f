#include "coordinator/store/migrations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::TempDir;

const std::vector<std::string>& OneStep() {
  static const auto& steps =
      *new std::vector<std::string>{"CREATE TABLE fruit (name TEXT); CREATE TABLE basket (n);"};
  return steps;
}

const std::vector<std::string>& TwoSteps() {
  static const auto& steps = *new std::vector<std::string>{
      OneStep()[0], "ALTER TABLE fruit ADD COLUMN weight INTEGER DEFAULT 1; DROP TABLE basket;"};
  return steps;
}

class MigrationsTest : public ::testing::Test {
 protected:
  MigrationsTest() : db_(*Connection::Open(dir_.File("t.db"), absl::ZeroDuration())) {}

  int64_t Version() {
    int64_t version = -1;
    EXPECT_OK(db_->Sql("PRAGMA user_version").Query([&](Row& row) { version = row.Int(); }));
    return version;
  }

  std::vector<std::string> Tables() {
    std::vector<std::string> tables;
    EXPECT_OK(db_->Sql("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
                  .Query([&](Row& row) { tables.push_back(row.Text()); }));
    return tables;
  }

  TempDir dir_;
  std::unique_ptr<Connection> db_;
};

TEST_F(MigrationsTest, AnEmptyDatabaseGetsEveryStep) {
  ASSERT_OK(CheckVersion(db_.get(), TwoSteps()));
  ASSERT_OK(Migrate(db_.get(), TwoSteps()));
  EXPECT_EQ(Version(), 2);
  EXPECT_THAT(Tables(), ElementsAre("fruit"));
  EXPECT_OK(db_->Execute("INSERT INTO fruit (name, weight) VALUES ('fig', 3)"));
}

TEST_F(MigrationsTest, AnOlderDatabaseGetsOnlyTheStepsItLacks) {
  ASSERT_OK(Migrate(db_.get(), OneStep()));
  ASSERT_OK(db_->Execute("INSERT INTO fruit VALUES ('fig')"));
  ASSERT_OK(CheckVersion(db_.get(), TwoSteps()));
  ASSERT_OK(Migrate(db_.get(), TwoSteps()));
  EXPECT_EQ(Version(), 2);
  int64_t weight = 0;
  ASSERT_OK(db_->Sql("SELECT weight FROM fruit WHERE name = 'fig'").Query([&](Row& row) {
    weight = row.Int();
  }));
  EXPECT_EQ(weight, 1);
}

TEST_F(MigrationsTest, ACurrentDatabaseIsLeftAlone) {
  ASSERT_OK(Migrate(db_.get(), OneStep()));
  EXPECT_OK(CheckVersion(db_.get(), OneStep()));
  EXPECT_OK(Migrate(db_.get(), OneStep()));
  EXPECT_EQ(Version(), 1);
}

TEST_F(MigrationsTest, AStepThatFailsLeavesTheOldVersionWhole) {
  ASSERT_OK(Migrate(db_.get(), OneStep()));
  const std::vector<std::string> broken = {OneStep()[0], "CREATE TABLE seed (n); DROP TABLE nut;"};
  EXPECT_THAT(Migrate(db_.get(), broken),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no such table: nut")));
  EXPECT_EQ(Version(), 1);
  EXPECT_THAT(Tables(), ElementsAre("basket", "fruit"));
}

TEST_F(MigrationsTest, ANewerDatabaseIsRefusedWithBothVersions) {
  ASSERT_OK(Migrate(db_.get(), TwoSteps()));
  EXPECT_THAT(CheckVersion(db_.get(), OneStep()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("has version 2"), HasSubstr("knows versions up to 1"))));
}

TEST_F(MigrationsTest, AnotherApplicationsDatabaseIsRefused) {
  ASSERT_OK(db_->Execute("CREATE TABLE places (url)"));
  EXPECT_THAT(CheckVersion(db_.get(), OneStep()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("of another application")));
}

// What the older release knew nothing of has the default that records.h gives it.
TEST_F(MigrationsTest, RunsAndAttemptsOfAnOlderReleaseAreKept) {
  const std::vector<std::string>& all = SchemaMigrations();
  ASSERT_OK(Migrate(db_.get(), {all.begin(), all.begin() + 2}));
  ASSERT_OK(db_->Execute(R"(
    INSERT INTO experiments VALUES ('default', 0);
    INSERT INTO runs VALUES (1, 'digits', 'default', '', 'queued', 'waits', 1, 0, 2, 0, 0, 1000000,
      NULL, NULL, 1, 4, 0, NULL, '[]', '[]', 0, NULL, NULL, 3, 'torchrun', 'auto', 30000000);
    INSERT INTO attempts VALUES (1, 1, 'stopping', 'node-lost', 'pc2 vanished', '', 4, '', 0,
      'worker', 0, NULL, NULL);
  )"));
  RunRecord run;
  run.id = 1;
  run.request = {
      .name = "digits", .experiment = "default", .min_nodes = 1, .max_nodes = 4, .max_restarts = 3};
  run.reason = "waits";
  run.attempts = 1;
  run.losses = 2;
  run.submitted_at = absl::FromUnixSeconds(1);
  const absl::StatusOr<std::unique_ptr<Store>> store = OpenSqliteStore(dir_.File("t.db"));
  ASSERT_OK(store);
  EXPECT_EQ(*(*store)->GetRunRecord(1), run);
  std::string attempt;
  ASSERT_OK(db_->Sql("SELECT reason || '|' || exit_code || '|' || free_of_charge || '|' || causes "
                     "FROM attempts")
                .Query([&](Row& row) { attempt = row.Text(); }));
  EXPECT_EQ(attempt, "pc2 vanished|0|0|[]");
}

// A node is shut out if one of its certificates was revoked and none is valid any more. A node that
// has renewed its certificate or joined again is not.
TEST_F(MigrationsTest, NodesOfAnOlderReleaseAreShutOutWhereTheirCertificatesAreRevoked) {
  const std::vector<std::string>& all = SchemaMigrations();
  ASSERT_OK(Migrate(db_.get(), {all.begin(), all.begin() + 5}));
  for (const char* name : {"pc1", "pc2", "pc3"}) {
    ASSERT_OK(db_->Execute(absl::StrCat("INSERT INTO nodes VALUES ('", name,
                                        "', '', 'on', '', 0, NULL, '', '', 0, 0, '', '', '', ",
                                        "'', '', 1, 0, 0, '[]', '[]', '[]', '[]')")));
  }
  ASSERT_OK(db_->Execute(R"(
    INSERT INTO certificates VALUES
      ('1', 'worker', 'pc1', 0, 9000000000000000, '', NULL, '', ''),
      ('2', 'worker', 'pc2', 0, 9000000000000000, '', 1000000, 'anna', 'stolen'),
      ('3', 'worker', 'pc2', 0, 5000000, '', NULL, '', ''),
      ('4', 'user', 'pc2', 0, 9000000000000000, '', NULL, '', ''),
      ('5', 'worker', 'pc3', 0, 9000000000000000, '', 1000000, 'anna', ''),
      ('6', 'worker', 'pc3', 0, 9000000000000000, '', NULL, '', '');
  )"));
  ASSERT_OK(Migrate(db_.get(), all));
  std::vector<std::string> found;
  ASSERT_OK(db_->Sql("SELECT name || '|' || revoked || '|' || forgotten FROM nodes ORDER BY name")
                .Query([&](Row& row) { found.push_back(row.Text()); }));
  EXPECT_THAT(found, ElementsAre("pc1||0", "pc2|revoked by anna: stolen|0", "pc3||0"));
}

// The views that people and scripts read beside the tables.
TEST_F(MigrationsTest, TheViewsCanBeRead) {
  ASSERT_OK(Migrate(db_.get(), SchemaMigrations()));
  ASSERT_OK(db_->Execute(R"(
    INSERT INTO experiments VALUES ('default', 0);
    INSERT INTO runs (id, name, experiment, user, state, reason, attempts, failures, losses,
        exit_code, cancel_requested, submitted_at, started_at, ended_at, min_nodes, max_nodes,
        ranks_per_node, node_list, exclude, priority, max_restarts, mode, store_host)
      VALUES (1, 'digits', 'default', '', 'succeeded', 'done', 1, 0, 0, 0, 0, 1000000, 2000000,
        4500000, 1, 1, 0, '[]', '[]', 0, 0, 'torchrun', 'auto');
    INSERT INTO programs (run, command, workdir, submit_host, legacy_local_rank, repository,
        commit_id, branch, dirty, diff_cut, env, diff)
      VALUES (1, '["python","train.py"]', '/', '', 'none', '', '', '', 0,
      0, '{}', '');
    INSERT INTO placements VALUES (1, 1, 'pc2', 1, '', '[0]', 1, 1, 1),
      (1, 1, 'pc1', 0, '', '[0]', 0, 1, 1);
    INSERT INTO metric_keys VALUES (7, 1, 'loss', 1, 5, 0.5, 0.5, 0.5);
    INSERT INTO metrics VALUES (1, 1, 7, 1, 0, 5, 0.5, 0);
    INSERT INTO events VALUES (1, 1500000, 'info', 'run.queued', 1, NULL, NULL, NULL, 'because');
  )"));
  std::vector<std::string> found;
  const auto keep = [&](Row& row) { found.push_back(row.Text()); };
  ASSERT_OK(db_->Sql("SELECT nodes || '|' || command || '|' || seconds || '|' || (submitted <> '') "
                     "FROM run_overview")
                .Query(keep));
  ASSERT_OK(db_->Sql("SELECT key || '|' || step || '|' || value FROM metric_points").Query(keep));
  ASSERT_OK(db_->Sql("SELECT kind || '|' || substr(time, -4) FROM event_log").Query(keep));
  EXPECT_THAT(found,
              ElementsAre("pc1, pc2|python train.py|2.5|1", "loss|5|0.5", "run.queued|.500"));
}

TEST_F(MigrationsTest, AVersionBeforeTheFirstIsDamage) {
  ASSERT_OK(Migrate(db_.get(), OneStep()));
  EXPECT_OK(db_->Execute("PRAGMA user_version = -1"));
  EXPECT_THAT(CheckVersion(db_.get(), TwoSteps()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("schema has version -1")));
}

}  // namespace
}  // namespace hpc::coordinator
