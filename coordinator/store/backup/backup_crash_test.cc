// The machine may stop after any file operation of a restore. Then either the whole state is there,
// or none of it, and in that case restoring again works.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "common/files/files.h"
#include "common/status_matchers.h"
#include "coordinator/store/backup/backup_maker.h"
#include "coordinator/store/backup/backup_restorer.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/store/testing/records.h"
#include "tests/testing/disk/power_cut.h"
#include "tests/testing/disk/scratch.h"

namespace hpc::coordinator {
namespace {

using hpc::testing::ForEachPowerCut;
using hpc::testing::PowerCut;
using hpc::testing::RecordedFolder;
using hpc::testing::Scratch;
using testing::At;
using testing::FullProgram;
using testing::FullRun;
using testing::TempDir;

const protocol::StreamId kStdout = {{1, 1}, 0, false};

// A state with a run, its output, a key and a secret.
void MakeState(const std::string& dir) {
  const auto store = OpenSqliteStore(dir + "/hpc.db");
  ASSERT_OK(store);
  ASSERT_OK((*store)->Commit({.changes = {FullRun(1)}, .programs = {{1, FullProgram()}}}));
  const auto logs = LogStore::Open(dir + "/logs", {.segment_bytes = 256});
  ASSERT_OK(logs);
  ASSERT_OK((*logs)->Append(kStdout, 0, std::string(1000, 'x'), At(0)));
  WriteBatch batch;
  ASSERT_OK((*logs)->Flush(&batch));
  ASSERT_OK((*store)->Commit(batch));
  for (const char* name : {"keys", "secrets"}) {
    ASSERT_OK(MakeDirs(dir + "/" + name));
    ASSERT_OK(WriteFileAtomically(dir + "/" + name + "/1", "secret"));
  }
}

void CheckWhole(const std::string& dir) {
  EXPECT_EQ(*ReadFile(dir + "/hpc-state"), "coordinator\n");
  EXPECT_EQ(*ReadFile(dir + "/keys/1"), "secret");
  EXPECT_EQ(*ReadFile(dir + "/secrets/1"), "secret");
  const auto store = OpenSqliteStore(dir + "/hpc.db");
  ASSERT_OK(store);
  const auto snapshot = (*store)->Load();
  ASSERT_OK(snapshot);
  EXPECT_EQ(snapshot->restored.known_run, 1);
  EXPECT_OK((*store)->GetRun(1));
  const auto logs = LogStore::Open(dir + "/logs", {});
  ASSERT_OK(logs);
  std::string text;
  const auto records = (*logs)->Read(1, 0, 1 << 20);
  ASSERT_OK(records);
  for (const LogRecord& record : *records) text += record.data;
  EXPECT_EQ(text, std::string(1000, 'x'));
}

TEST(RestoreCrashTest, AnyOperationMayBeTheLast) {
  const TempDir state;
  const Scratch scratch;
  ASSERT_NO_FATAL_FAILURE(MakeState(state.path()));
  const auto maker = BackupMaker::Begin(state.path(), true, At(5));
  ASSERT_OK(maker);
  ASSERT_OK((*maker)->Make([](const std::string&) {}));
  const std::string backup = UnfinishedBackup(state.path());
  std::filesystem::create_directory(scratch.folder() + "/state");  // empty, as a package makes it

  RecordedFolder folder(scratch.folder());
  ASSERT_OK(RestoreBackup(backup, scratch.folder() + "/state", At(9)));
  const size_t restored_at = folder.done();
  ForEachPowerCut(folder.Stop(), {.torn = 1, .most = 250, .parent = scratch.parent()},
                  [&](const PowerCut& cut) {
                    const std::string place = cut.folder + "/state";
                    if (!std::filesystem::exists(place) || std::filesystem::is_empty(place)) {
                      EXPECT_LT(cut.done, restored_at);
                      EXPECT_OK(RestoreBackup(backup, place, At(9)));
                    }
                    CheckWhole(place);
                  });
}

}  // namespace
}  // namespace hpc::coordinator
