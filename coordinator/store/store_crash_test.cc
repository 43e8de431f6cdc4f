// The machine may stop after any write to the database. Everything that was committed is there, and
// each batch that was not committed is there as a whole or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/store/backup/backup_format.h"
#include "coordinator/store/migrations.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/store/testing/records.h"
#include "tests/testing/disk/power_cut.h"

namespace hpc::coordinator {
namespace {

using hpc::testing::ForEachPowerCut;
using hpc::testing::PowerCut;
using hpc::testing::RecordedFolder;
using hpc::testing::Recording;
using ::testing::AnyOf;
using testing::At;
using testing::FullAttempt;
using testing::FullNode;
using testing::FullProgram;
using testing::FullRun;
using testing::MakeEvent;
using testing::MakePlacement;
using testing::MakeRank;
using testing::TempDir;

// Writes a little of everything: a new run, and rows of the runs before.
WriteBatch Batch(int number) {
  const AttemptRef ref{number, 1};
  RunProgram program = FullProgram();
  program.request_id = absl::StrCat("request ", number);
  program.code.diff = std::string(static_cast<size_t>(number) * 1500, 'd');
  RunRecord run = FullRun(number);
  WriteBatch batch;
  batch.changes = {run,
                   FullNode("pc1"),
                   FullAttempt(ref),
                   MakePlacement(ref, "pc1", 0),
                   MakeRank(ref, 0, "pc1"),
                   MakeEvent(number)};
  if (number > 1) {
    RunRecord before = FullRun(number - 1);
    before.state = RunState::kSucceeded;
    batch.changes.push_back(before);
  }
  batch.programs = {{number, program}};
  for (int step = 0; step < 30; ++step) {
    batch.metrics.push_back({ref, 0, "loss", step, 0.5, At(step)});
  }
  batch.metric_offsets = {{ref, 0, 100}};
  batch.log_segments = {{.run = number, .bytes = 10}};
  batch.log_streams = {{.ref = ref, .bytes = 10}};
  TokenRecord token;
  token.id = absl::StrCat("token ", number);
  batch.trust = {token};
  return batch;
}

// A text with every value of every table. It is read over a connection of its own.
std::string StateOf(const std::string& path) {
  const auto db = Connection::Open(path, absl::ZeroDuration());
  EXPECT_OK(db);
  const absl::StatusOr<std::string> hash = ContentHash(db->get());
  EXPECT_OK(hash);
  return hash.value_or("");
}

void CheckIntegrity(const std::string& path) {
  const auto db = Connection::Open(path, absl::ZeroDuration());
  ASSERT_OK(db);
  std::string finding;
  ASSERT_OK((*db)->Sql("PRAGMA integrity_check").Query([&](Row& row) { finding += row.Text(); }));
  EXPECT_EQ(finding, "ok");
  int broken = 0;
  ASSERT_OK((*db)->Sql("PRAGMA foreign_key_check").Query([&](Row&) { ++broken; }));
  EXPECT_EQ(broken, 0);
}

class StoreCrashTest : public ::testing::Test {
 protected:
  std::string Path() const { return state_.File("hpc.db"); }

  void Open() {
    store_.reset();
    store_ = *OpenSqliteStore(Path());
    if (states_.empty()) Acknowledged();
  }
  void Commit(int number) {
    ASSERT_OK(store_->Commit(Batch(number)));
    Acknowledged();
  }
  void Acknowledged() {
    states_.push_back(StateOf(Path()));
    acknowledged_at_.push_back(folder_.done());
  }
  // The daemon does this after 4,000 pages, which would take too long here.
  void CopyWriteAheadLog() {
    const auto db = Connection::Open(Path(), absl::ZeroDuration());
    ASSERT_OK((*db)->Execute("PRAGMA wal_checkpoint(PASSIVE)"));
  }

  // The state is the last one that was acknowledged, or the one that was being made.
  void CheckState(const PowerCut& cut) {
    const std::string path = cut.folder + "/hpc.db";
    const absl::StatusOr<std::unique_ptr<Store>> store = OpenSqliteStore(path);
    ASSERT_OK(store);
    ASSERT_OK((*store)->Load());
    size_t known = 0;
    while (known < acknowledged_at_.size() && acknowledged_at_[known] <= cut.done) ++known;
    const std::string& last = states_[known == 0 ? 0 : known - 1];
    EXPECT_THAT(StateOf(path), AnyOf(last, states_[std::min(known, states_.size() - 1)]));
    CheckIntegrity(path);
    EXPECT_OK((*store)->Commit(Batch(9)));
  }

  TempDir state_, place_;
  RecordedFolder folder_{state_.path()};
  std::unique_ptr<Store> store_;
  std::vector<std::string> states_;  // after each commit; the first is that of an empty database
  std::vector<size_t> acknowledged_at_;  // number of operations done by then
};

TEST_F(StoreCrashTest, AnyWriteMayBeTheLast) {
  Open();
  int number = 0;
  for (int i = 0; i < 3; ++i) Commit(++number);
  CopyWriteAheadLog();
  for (int i = 0; i < 3; ++i) Commit(++number);  // writes at the beginning of the write-ahead log
  Open();                                        // closes the old connection first
  for (int i = 0; i < 2; ++i) Commit(++number);
  store_.reset();
  const Recording recording = folder_.Stop();
  const size_t cuts = ForEachPowerCut(recording, {.most = 400, .parent = place_.path()},
                                      [&](const PowerCut& cut) { CheckState(cut); });
  EXPECT_GT(cuts, 300u);
}

}  // namespace
}  // namespace hpc::coordinator
