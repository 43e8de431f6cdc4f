// What is stored, refused and reported when something is wrong with the disk, the file or the
// process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/sqlite.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/store/store_reader.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using testing::At;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeEvent;
using testing::MakeProgram;
using testing::MakeRun;
using ::testing::SizeIs;
using testing::TempDir;

// Runs `body` in a process of its own. It must end with _exit, so that nothing is closed and the
// process ends as if it had been killed there.
pid_t Start(const std::function<void()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    body();
    _exit(2);
  }
  return pid;
}

bool Succeeded(pid_t pid) {
  int status = 0;
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class StoreTroubleTest : public ::testing::Test {
 protected:
  std::string Path() const { return dir_.File("hpc.db"); }

  std::unique_ptr<Store> MustOpen() {
    absl::StatusOr<std::unique_ptr<Store>> store = OpenSqliteStore(Path());
    EXPECT_OK(store);
    return *std::move(store);
  }

  // A database that holds enough for its tables to have pages of their own.
  void MakeDatabase() {
    WriteBatch batch;
    for (RunId id = 1; id <= 200; ++id) {
      RunRecord run = MakeRun(id);
      run.reason = std::string(200, 'r');
      batch.changes.push_back(run);
      batch.programs.push_back({id, MakeProgram()});
    }
    ASSERT_OK(MustOpen()->Commit(batch));
  }

  TempDir dir_;
};

TEST_F(StoreTroubleTest, WhatWasCommittedSurvivesAKill) {
  EXPECT_TRUE(Succeeded(Start([&] {
    const std::unique_ptr<Store> store = *OpenSqliteStore(Path());
    const bool stored =
        store->Commit({.changes = {MakeRun(1)}, .programs = {{1, MakeProgram()}}}).ok() &&
        store->Commit({.changes = {MakeRun(2)}, .programs = {{2, MakeProgram()}}}).ok();
    _exit(stored ? 0 : 1);
  })));
  ASSERT_GT(std::filesystem::file_size(Path() + "-wal"), 0u) << "the database was closed";
  EXPECT_THAT(MustOpen()->Load()->runs, ElementsAre(MakeRun(1), MakeRun(2)));
}

// A power cut may leave any prefix of the write-ahead log. Each prefix holds whole batches.
TEST_F(StoreTroubleTest, APowerCutLeavesWholeBatches) {
  EXPECT_TRUE(Succeeded(Start([&] {
    const std::unique_ptr<Store> store = *OpenSqliteStore(Path());
    for (RunId id = 1; id <= 4; ++id) {
      if (!store->Commit({.changes = {MakeRun(id), MakeEvent(id)}}).ok()) _exit(1);
    }
    _exit(0);
  })));
  const std::string database = *ReadFile(Path());
  const std::string log = *ReadFile(Path() + "-wal");
  size_t most = 0;
  for (size_t kept = 0; kept <= log.size(); kept += 1021) {
    SCOPED_TRACE(kept);
    const TempDir cut;
    ASSERT_OK(WriteFileAtomically(cut.File("hpc.db"), database));
    ASSERT_OK(WriteFileAtomically(cut.File("hpc.db-wal"), log.substr(0, kept)));
    absl::StatusOr<std::unique_ptr<Store>> store = OpenSqliteStore(cut.File("hpc.db"));
    ASSERT_OK(store);
    const Snapshot snapshot = *(*store)->Load();
    ASSERT_EQ(snapshot.last_run, snapshot.last_event);
    ASSERT_THAT(snapshot.runs, SizeIs(snapshot.last_run));
    ASSERT_GE(snapshot.runs.size(), most) << "more of the log must not be less of the data";
    most = snapshot.runs.size();
  }
  EXPECT_GE(most, 3u);
}

TEST_F(StoreTroubleTest, OthersReadWhileWeWrite) {
  const std::unique_ptr<Store> store = MustOpen();
  ASSERT_OK(store->Commit({.changes = {MakeRun(1)}}));
  int to_reader[2], to_writer[2];
  ASSERT_EQ(pipe(to_reader), 0);
  ASSERT_EQ(pipe(to_writer), 0);
  const auto signal = [](int fd) { return write(fd, "x", 1) == 1; };
  const auto await = [](int fd) {
    char byte;
    return read(fd, &byte, 1) == 1;
  };
  const pid_t reader = Start([&] {
    const std::unique_ptr<Connection> db = *Connection::Open(Path(), absl::ZeroDuration());
    const auto runs = [&] {
      int64_t count = -1;
      db->Sql("SELECT count(*) FROM run_overview")
          .Query([&](Row& row) { count = row.Int(); })
          .IgnoreError();
      return count;
    };
    const bool snapshot = db->Execute("BEGIN").ok() && runs() == 1 && signal(to_writer[1]) &&
                          await(to_reader[0]) && runs() == 1 && db->Execute("COMMIT").ok();
    _exit(snapshot && runs() == 2 ? 0 : 1);
  });
  ASSERT_TRUE(await(to_writer[0]));
  EXPECT_OK(store->Commit({.changes = {MakeRun(2)}}));
  EXPECT_TRUE(signal(to_reader[1]));
  EXPECT_TRUE(Succeeded(reader));
  for (const int fd : {to_reader[0], to_reader[1], to_writer[0], to_writer[1]}) close(fd);
}

TEST_F(StoreTroubleTest, ADatabaseLockedByAnotherIsUnavailableAndLosesNothing) {
  const std::unique_ptr<Store> store =
      *OpenSqliteStore(Path(), {.busy_timeout = absl::Milliseconds(1)});
  const std::unique_ptr<Connection> other = *Connection::Open(Path(), absl::ZeroDuration());
  ASSERT_OK(other->Execute("BEGIN IMMEDIATE"));
  EXPECT_THAT(store->Commit({.changes = {MakeRun(1)}}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("hpc.db: locked")));
  ASSERT_OK(other->Execute("ROLLBACK"));
  EXPECT_OK(store->Commit({.changes = {MakeRun(1)}}));
}

TEST_F(StoreTroubleTest, NothingIsWrittenIntoADatabaseThatWasDeletedOrReplaced) {
  const std::unique_ptr<Store> store = MustOpen();
  WriteBatch batch;
  batch.changes = {MakeEvent(1)};
  ASSERT_OK(store->Commit(batch));
  std::filesystem::rename(Path(), dir_.File("away"));
  batch.changes = {MakeEvent(2)};
  const auto refused = StatusIs(absl::StatusCode::kFailedPrecondition,
                                HasSubstr("was deleted or replaced while it is in use"));
  EXPECT_THAT(store->Commit(batch), refused);
  std::filesystem::copy_file(dir_.File("away"), Path());
  EXPECT_THAT(store->Commit(batch), refused);
}

TEST_F(StoreTroubleTest, RefusesWhatIsNoDatabaseAndLeavesItAsItIs) {
  const std::string text(10'000, 'x');
  ASSERT_OK(WriteFileAtomically(Path(), text));
  EXPECT_THAT(OpenSqliteStore(Path()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(Path()), HasSubstr("restore a backup"))));
  EXPECT_EQ(*ReadFile(Path()), text);
}

TEST_F(StoreTroubleTest, RefusesADatabaseThatWasCutShort) {
  MakeDatabase();
  const std::string whole = *ReadFile(Path());
  const std::string half = whole.substr(0, whole.size() / 2);
  ASSERT_OK(WriteFileAtomically(Path(), half));
  EXPECT_THAT(OpenSqliteStore(Path()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("restore a backup")));
  EXPECT_EQ(*ReadFile(Path()), half);
}

// Any page may be overwritten. Then the store refuses to open, or each read is either refused or
// right. It never makes up an empty database, and it never crashes.
TEST_F(StoreTroubleTest, ADamagedPageIsNeverTakenForData) {
  MakeDatabase();
  const std::string whole = *ReadFile(Path());
  constexpr size_t kPage = 4096;
  int refused = 0;
  for (size_t page = 0; page * kPage < whole.size(); ++page) {
    SCOPED_TRACE(page);
    std::string damaged = whole;
    damaged.replace(page * kPage, kPage, std::string(kPage, '\x5a'));
    ASSERT_OK(WriteFileAtomically(Path(), damaged));
    absl::StatusOr<std::unique_ptr<Store>> store = OpenSqliteStore(Path());
    if (!store.ok()) {
      EXPECT_THAT(store, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("restore a backup")));
      EXPECT_EQ(*ReadFile(Path()), damaged);
      ++refused;
      continue;
    }
    const std::unique_ptr<StoreReader> reader = *(*store)->OpenReader();
    absl::StatusOr<std::vector<RunRow>> rows = reader->ListRuns({});
    if (rows.ok()) {
      EXPECT_THAT(*rows, SizeIs(200));
    } else {
      EXPECT_THAT(rows, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("restore a backup")));
    }
  }
  EXPECT_GT(refused, 5);
}

TEST_F(StoreTroubleTest, RefusesANewerDatabaseAndLeavesItAsItIs) {
  MustOpen();
  ASSERT_OK((*Connection::Open(Path(), absl::ZeroDuration()))->Execute("PRAGMA user_version = 99"));
  const std::string before = *ReadFile(Path());
  EXPECT_THAT(OpenSqliteStore(Path()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("version 99"), HasSubstr("a newer hpc-coordinator"))));
  EXPECT_EQ(*ReadFile(Path()), before);
}

TEST_F(StoreTroubleTest, RefusesAnotherApplicationsDatabaseAndLeavesItAsItIs) {
  ASSERT_OK(
      (*Connection::Open(Path(), absl::ZeroDuration()))->Execute("CREATE TABLE places (url)"));
  const std::string before = *ReadFile(Path());
  EXPECT_THAT(OpenSqliteStore(Path()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("of another application")));
  EXPECT_EQ(*ReadFile(Path()), before);
}

TEST_F(StoreTroubleTest, AWordThatNobodyWroteIsRefused) {
  MakeDatabase();
  ASSERT_OK((*Connection::Open(Path(), absl::ZeroDuration()))
                ->Execute("UPDATE runs SET mode = 'sideways' WHERE id = 7"));
  EXPECT_THAT(MustOpen()->Load(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("column mode holds the unknown word "
                                                              "'sideways'")));
}

TEST_F(StoreTroubleTest, ARunNumberFromWhichNoneCanBeCountedOnIsRefused) {
  MakeDatabase();
  ASSERT_OK((*Connection::Open(Path(), absl::ZeroDuration()))
                ->Execute("UPDATE runs SET id = 9223372036854775807 WHERE id = 7"));
  EXPECT_THAT(MustOpen()->Load(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("more than any number")));
}

// A small file system of its own, if the machine allows making one.
class SmallDiskTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (mount("none", dir_.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
      GTEST_SKIP() << "mounting needs root";
    }
    mounted_ = true;
  }
  ~SmallDiskTest() override {
    if (mounted_) umount2(dir_.path().c_str(), MNT_DETACH);
  }

  void FillDisk() {
    std::string content(1 << 20, 'x');
    // Bisection finds out how much fits.
    for (int i = 0; content.size() > 16; ++i) {
      if (!WriteFileAtomically(dir_.File(absl::StrCat("filler", i)), content).ok()) {
        content.resize(content.size() / 2);
      }
    }
  }
  void FreeDisk() {
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      if (entry.path().filename().string().rfind("filler", 0) == 0) {
        std::filesystem::remove(entry.path());
      }
    }
  }

  TempDir dir_;
  bool mounted_ = false;
};

TEST_F(SmallDiskTest, AFullDiskStopsCommitsAndLosesNothing) {
  const std::unique_ptr<Store> store = *OpenSqliteStore(dir_.File("hpc.db"));
  ASSERT_OK(store->Commit({.changes = {MakeRun(1)}}));
  FillDisk();
  RunRecord large = MakeRun(2);
  large.reason = std::string(100'000, 'x');
  EXPECT_THAT(store->Commit({.changes = {large}}),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("hpc.db"), HasSubstr("free space"))));
  EXPECT_THAT(store->Load()->runs, ElementsAre(MakeRun(1)));
  FreeDisk();
  EXPECT_OK(store->Commit({.changes = {large}}));
}

TEST_F(SmallDiskTest, ACommitThatIsRefusedForSpaceIsNotThereAfterARestartEither) {
  {
    const std::unique_ptr<Store> store = *OpenSqliteStore(dir_.File("hpc.db"));
    ASSERT_OK(store->Commit({.changes = {MakeRun(1)}}));
    FillDisk();
    RunRecord large = MakeRun(2);
    large.reason = std::string(100'000, 'x');
    EXPECT_FALSE(store->Commit({.changes = {large}}).ok());
  }
  FreeDisk();
  EXPECT_THAT((*OpenSqliteStore(dir_.File("hpc.db")))->Load()->runs, ElementsAre(MakeRun(1)));
}

TEST_F(SmallDiskTest, AFullDiskKeepsOutputUntilThereIsSpace) {
  const std::unique_ptr<LogStore> logs = *LogStore::Open(dir_.File("logs"), {});
  const protocol::StreamId out = {.ref = {1, 1}};
  const std::string data(100'000, 'x');
  FillDisk();
  ASSERT_OK(logs->Append(out, 0, data, At(0)));
  WriteBatch batch;
  EXPECT_THAT(logs->Flush(&batch),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("00000.log")));
  EXPECT_TRUE(logs->dirty());
  EXPECT_EQ((*logs->Lengths({1, 1}))[0].second, 0);
  FreeDisk();
  ASSERT_OK(logs->Flush(&batch));
  EXPECT_EQ((*logs->Lengths({1, 1}))[0].second, 100'000);
  EXPECT_EQ(logs->Read(1, 0, 1 << 20)->front().data, data);
}

TEST_F(SmallDiskTest, ASegmentThatCannotBeSealedIsKeptAsItIs) {
  const std::unique_ptr<LogStore> logs = *LogStore::Open(dir_.File("logs"), {});
  const protocol::StreamId out = {.ref = {1, 1}};
  ASSERT_OK(logs->Append(out, 0, "one", At(0)));
  WriteBatch batch;
  ASSERT_OK(logs->Flush(&batch));
  FillDisk();
  EXPECT_OK(logs->Seal(1, &batch));
  EXPECT_FALSE(batch.log_segments.back().sealed);
  EXPECT_EQ(logs->Read(1, 0, 100)->front().data, "one");
  FreeDisk();
  ASSERT_OK(logs->Append(out, 3, "two", At(1)));
  ASSERT_OK(logs->Seal(1, &batch));
  EXPECT_THAT(*logs->Read(1, 0, 100), SizeIs(2));
}

TEST_F(SmallDiskTest, AReadOnlyDiskIsRefusedAtTheStart) {
  ASSERT_OK(OpenSqliteStore(dir_.File("hpc.db")));
  ASSERT_EQ(mount("none", dir_.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
  EXPECT_THAT(OpenSqliteStore(dir_.File("hpc.db")),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("cannot be written")));
  EXPECT_THAT(OpenSqliteStore(dir_.File("new.db")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Read-only file system")));
  EXPECT_THAT(LogStore::Open(dir_.File("logs"), {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("logs")));
}

}  // namespace
}  // namespace hpc::coordinator
