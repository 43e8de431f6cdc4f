// A backup is made of a state that is in use, and is restored elsewhere.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "common/status_matchers.h"
#include "coordinator/store/backup/backup_format.h"
#include "coordinator/store/backup/backup_maker.h"
#include "coordinator/store/backup/backup_restorer.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/migrations.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::At;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeProgram;
using testing::MakeRun;
using testing::TempDir;

const protocol::StreamId kStdout = {{1, 1}, 0, false};

class BackupTest : public ::testing::Test {
 protected:
  BackupTest() : store_(*OpenSqliteStore(File("hpc.db"))), logs_(OpenLogs(File("logs"))) {
    std::filesystem::create_directory(File("keys"));
    std::filesystem::create_directory(File("secrets"));
    EXPECT_OK(WriteFileAtomically(File("keys/authority.key"), "the key"));
    EXPECT_OK(WriteFileAtomically(File("secrets/1"), "HF_TOKEN=x"));
    AddRun(1);
    Print(0, "hello\n");
  }

  static std::unique_ptr<LogStore> OpenLogs(const std::string& dir) {
    return *LogStore::Open(dir, {.segment_bytes = 256});
  }
  std::string File(const std::string& name) const { return state_.File(name); }
  std::string Backup() const { return place_.File("b"); }
  std::string Target() const { return place_.File("restored"); }

  void AddRun(RunId id) {
    WriteBatch batch;
    RunRecord run = MakeRun(id);
    run.attempts = 1;
    batch.changes.push_back(run);
    batch.changes.push_back(EventRecord{.id = id, .at = At(id), .kind = "run.queued", .run = id});
    batch.programs.emplace_back(id, MakeProgram());
    EXPECT_OK(store_->Commit(batch));
  }

  void Print(int64_t offset, const std::string& text) {
    EXPECT_OK(logs_->Append(kStdout, offset, text, At(0)));
    WriteBatch batch;
    EXPECT_OK(logs_->Flush(&batch));
    EXPECT_OK(store_->Commit(batch));
  }

  absl::Status Make(
      bool with_logs = true,
      const std::function<void(const std::string&)>& say = [](const auto&) {}) {
    auto maker = BackupMaker::Begin(state_.path(), with_logs, At(5));
    if (!maker.ok()) return maker.status();
    if (absl::Status made = (*maker)->Make(say); !made.ok()) return made;
    std::filesystem::copy_file(UnfinishedBackup(state_.path()), Backup(),
                               std::filesystem::copy_options::overwrite_existing);
    std::filesystem::remove(UnfinishedBackup(state_.path()));
    return absl::OkStatus();
  }

  absl::StatusOr<RestoredBackup> Restore() { return RestoreBackup(Backup(), Target(), At(9)); }

  static std::string Output(const std::string& state_dir) {
    std::string text;
    const absl::StatusOr<std::vector<LogRecord>> records =
        OpenLogs(state_dir + "/logs")->Read(1, 0, 1 << 20);
    EXPECT_OK(records);
    for (const LogRecord& record : *records) {
      text += record.data + record.missing;
    }
    return text;
  }

  // The files that are left where there must be none.
  std::vector<std::string> Leftovers() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(place_.path())) {
      if (entry.path() != Backup()) names.push_back(entry.path().filename());
    }
    return names;
  }

  void Execute(const std::string& sql) {
    EXPECT_OK((*Connection::Open(Backup(), absl::ZeroDuration()))->Execute(sql));
  }
  // Changes the backup and updates its checksum, so that it claims to be as it was written.
  void Forge(const std::string& sql) {
    Execute(sql);
    auto db = *Connection::Open(Backup(), absl::ZeroDuration());
    const absl::StatusOr<std::string> hash = ContentHash(db.get());
    ASSERT_OK(hash);
    EXPECT_OK(db->Sql("UPDATE backup SET content_hash = ?").Text(*hash).Run());
  }

  TempDir state_, place_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LogStore> logs_;
};

TEST_F(BackupTest, HasTheDatabaseItsOutputKeysAndSecrets) {
  ASSERT_OK(Make());
  AddRun(2);
  const absl::StatusOr<RestoredBackup> restored = Restore();
  ASSERT_OK(restored);
  EXPECT_EQ(restored->made_at, At(5));
  EXPECT_EQ(restored->runs, 1);
  EXPECT_EQ(restored->live_runs, 1);
  EXPECT_TRUE(restored->has_authority);
  EXPECT_EQ(*ReadFile(Target() + "/keys/authority.key"), "the key");
  EXPECT_EQ(*ReadFile(Target() + "/secrets/1"), "HF_TOKEN=x");
  EXPECT_EQ(*ReadFile(Target() + "/hpc-state"), "coordinator\n");
  EXPECT_EQ(Output(Target()), "hello\n");
  EXPECT_THAT(Leftovers(), ElementsAre("restored"));
  const auto store = OpenSqliteStore(Target() + "/hpc.db");
  ASSERT_OK(store);
  EXPECT_OK((*store)->GetRun(1));
  EXPECT_THAT((*store)->GetRun(2), StatusIs(absl::StatusCode::kNotFound, HasSubstr("no run 2")));
  struct stat info;
  ASSERT_EQ(stat(Target().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700);
  ASSERT_EQ(stat((Target() + "/keys/authority.key").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600);
}

TEST_F(BackupTest, NumbersThatMayHaveBeenGivenOutAfterItAreNotUsedAgain) {
  ASSERT_OK(Make());
  const absl::StatusOr<RestoredBackup> restored = Restore();
  ASSERT_OK(restored);
  EXPECT_EQ(restored->next_run, 200'001);
  absl::StatusOr<Snapshot> snapshot = (*OpenSqliteStore(Target() + "/hpc.db"))->Load();
  ASSERT_OK(snapshot);
  EXPECT_EQ(snapshot->last_run, 200'000);
  EXPECT_EQ(snapshot->last_event, 1 + kEventsSkipped);
  EXPECT_EQ(snapshot->restored.at, At(9));
  EXPECT_EQ(snapshot->restored.known_run, 1);
  EXPECT_EQ(snapshot->restored.taken_attempt, kAttemptsSkipped);
}

TEST_F(BackupTest, OfARestoredStateSkipsNumbersOnceMore) {
  ASSERT_OK(Make());
  ASSERT_OK(Restore());
  auto maker = BackupMaker::Begin(Target(), true, At(10));
  ASSERT_OK(maker);
  ASSERT_OK((*maker)->Make([](const auto&) {}));
  const std::string second = place_.File("second");
  ASSERT_OK(RestoreBackup(UnfinishedBackup(Target()), second, At(11)));
  const absl::StatusOr<Snapshot> snapshot = (*OpenSqliteStore(second + "/hpc.db"))->Load();
  EXPECT_EQ(snapshot->last_run, 400'000);
  EXPECT_EQ(snapshot->last_event, 1 + 2 * kEventsSkipped);
  EXPECT_EQ(snapshot->restored.known_run, 200'000);
  EXPECT_EQ(snapshot->restored.taken_attempt, 2 * kAttemptsSkipped);
}

TEST_F(BackupTest, OutputThatComesWhileItIsMadeDoesNoHarm) {
  std::string text = "hello\n";
  int lines = 0;
  ASSERT_OK(Make(true, [&](const std::string&) {
    for (int i = 0; i < 20; ++i) {  // seals segments, too
      const std::string line = absl::StrCat("line ", ++lines, " of many\n");
      Print(static_cast<int64_t>(text.size()), line);
      text += line;
    }
    if (lines == 20) AddRun(2);
  }));
  ASSERT_OK(Restore());
  const std::string restored = Output(Target());
  EXPECT_THAT(restored, HasSubstr("hello\n"));
  EXPECT_EQ(restored, text.substr(0, restored.size()));
  EXPECT_GE(restored.size(), text.size() / 3);
}

TEST_F(BackupTest, OutputOfARunThatItDoesNotKnowIsLeftOut) {
  const protocol::StreamId newer = {{2, 1}, 0, false};
  EXPECT_OK(logs_->Append(newer, 0, "x", At(0)));
  WriteBatch batch;
  EXPECT_OK(logs_->Flush(&batch));  // and not committed
  ASSERT_OK(Make());
  ASSERT_OK(Restore());
  EXPECT_FALSE(std::filesystem::exists(Target() + "/logs/2"));
}

TEST_F(BackupTest, WithoutOutputItIsRestoredWithoutOutput) {
  ASSERT_OK(Make(false));
  ASSERT_OK(Restore());
  EXPECT_EQ(Output(Target()), "");
}

TEST_F(BackupTest, ThatIsCancelledLeavesNothing) {
  auto maker = BackupMaker::Begin(state_.path(), true, At(5));
  ASSERT_OK(maker);
  const absl::Status made = (*maker)->Make([&](const std::string&) { (*maker)->Cancel(); });
  EXPECT_THAT(made, StatusIs(absl::StatusCode::kAborted, HasSubstr("cancelled")));
  EXPECT_FALSE(std::filesystem::exists(UnfinishedBackup(state_.path())));
}

TEST_F(BackupTest, IsNoDatabaseThatACoordinatorStartsWith) {
  ASSERT_OK(Make());
  EXPECT_THAT(OpenSqliteStore(Backup()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another application")));
}

TEST_F(BackupTest, TokensAreVoidInARestoredState) {
  WriteBatch batch;
  TokenRecord token;
  token.id = "abc";
  token.secret_hash = "abcdef";
  token.uses_left = 1;
  batch.trust = {token};
  EXPECT_OK(store_->Commit(batch));
  ASSERT_OK(Make());
  ASSERT_OK(Restore());
  const auto trust = (*OpenSqliteStore(Target() + "/hpc.db"))->LoadTrust();
  ASSERT_OK(trust);
  ASSERT_EQ(trust->tokens.size(), 1);
  EXPECT_TRUE(trust->tokens[0].revoked);
}

// ------------------------------------------------------------------ what is refused

TEST_F(BackupTest, AFolderThatIsNotEmptyIsRefusedAndLeftAsItIs) {
  ASSERT_OK(Make());
  std::filesystem::create_directory(Target());
  EXPECT_OK(WriteFileAtomically(Target() + "/hpc.db", "mine"));
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kAlreadyExists,
                                  AllOf(HasSubstr("(hpc.db)"), HasSubstr("--state-dir"))));
  EXPECT_EQ(*ReadFile(Target() + "/hpc.db"), "mine");
}

TEST_F(BackupTest, AnEmptyFolderAndWhatARestoreThatWasCutShortHasLeftAreReplaced) {
  ASSERT_OK(Make());
  std::filesystem::create_directory(Target());
  std::filesystem::create_directory(Target() + ".restoring");
  EXPECT_OK(WriteFileAtomically(Target() + ".restoring/hpc.db", "half"));
  ASSERT_OK(RestoreBackup(Backup(), Target() + "/", At(9)));
  EXPECT_THAT(Leftovers(), ElementsAre("restored"));
}

TEST_F(BackupTest, WhatIsNoBackupIsRefused) {
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("/b")));
  EXPECT_OK(WriteFileAtomically(Backup(), "a letter"));
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no backup")));
  std::filesystem::remove(Backup());
  Execute("CREATE TABLE places (url)");
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no backup")));
  std::filesystem::remove(Backup());
  ASSERT_OK((*Connection::Open(File("hpc.db"), absl::ZeroDuration()))
                ->Execute(absl::StrCat("VACUUM INTO '", Backup(), "'")));
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("database alone")));
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(BackupTest, OfANewerVersionIsRefused) {
  ASSERT_OK(Make());
  Execute("PRAGMA user_version = 99");
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  AllOf(HasSubstr("version 99"), HasSubstr("newer"))));
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(BackupTest, OfTheOldestVersionIsBroughtUpToDate) {
  ASSERT_OK(Make());
  const std::vector<std::string> first(SchemaMigrations().begin(), SchemaMigrations().begin() + 1);
  std::filesystem::remove(Backup());
  auto db = *Connection::Open(Backup(), absl::ZeroDuration());
  ASSERT_OK(Migrate(db.get(), first));
  ASSERT_OK(db->Execute(kBackupTables));
  const absl::StatusOr<std::string> hash = ContentHash(db.get());
  ASSERT_OK(db->Execute(absl::StrCat("PRAGMA application_id = ", kBackupId)));
  ASSERT_OK(db->Execute(absl::StrCat("INSERT INTO backup VALUES (1, '0', 0, 0, '", *hash, "')")));
  db.reset();
  ASSERT_OK(Restore());
  EXPECT_OK(OpenSqliteStore(Target() + "/hpc.db"));
}

TEST_F(BackupTest, AChangedValueIsDamage) {
  ASSERT_OK(Make());
  Execute("UPDATE runs SET reason = 'other'");
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged (its tables")));
}

TEST_F(BackupTest, AChangedOrMissingFileIsDamage) {
  ASSERT_OK(Make());
  Execute("UPDATE backup_files SET content = 'bad key' WHERE path = 'keys/authority.key'");
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("keys/authority.key")));
  ASSERT_OK(Make());
  Execute("DELETE FROM backup_files WHERE path = 'secrets/1'");
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("files are missing")));
  ASSERT_OK(Make());
  Execute("UPDATE backup_files SET path = 'keys/../../x' WHERE path = 'secrets/1'");
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("keys/../../x")));
  ASSERT_OK(Make());
  Execute("DELETE FROM backup");
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("its end is missing")));
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(BackupTest, EveryPageThatIsDestroyedIsFoundOrMeansNothing) {
  ASSERT_OK(Make());
  const std::string whole = *ReadFile(Backup());
  constexpr size_t kPage = 4096;
  int refused = 0;
  for (size_t at = 0; at + kPage <= whole.size(); at += kPage) {
    std::string damaged = whole;
    damaged.replace(at, kPage, kPage, 'x');
    EXPECT_OK(WriteFileAtomically(Backup(), damaged));
    const absl::StatusOr<RestoredBackup> restored = Restore();
    refused += restored.ok() ? 0 : 1;
    if (restored.ok()) std::filesystem::remove_all(Target());
    EXPECT_THAT(Leftovers(), IsEmpty());
  }
  EXPECT_EQ(refused, static_cast<int>(whole.size() / kPage));
}

TEST_F(BackupTest, ThatWasCutShortIsRefused) {
  ASSERT_OK(Make());
  const std::string whole = *ReadFile(Backup());
  for (const size_t size : {whole.size() - 1, whole.size() / 2, size_t{4096}, size_t{100}}) {
    EXPECT_OK(WriteFileAtomically(Backup(), whole.substr(0, size)));
    EXPECT_FALSE(Restore().ok()) << size;
    EXPECT_THAT(Leftovers(), IsEmpty());
  }
}

TEST_F(BackupTest, OfAVersionThatNoneHasIsDamage) {
  ASSERT_OK(Make());
  for (const char* version : {"0", "-1", "-2147483648"}) {
    Execute(absl::StrCat("PRAGMA user_version = ", version));
    EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kDataLoss,
                                    HasSubstr(absl::StrCat("schema has version ", version))));
  }
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(BackupTest, ATableThatIsMissingOrAnotherIsDamage) {
  const std::pair<const char*, const char*> kChanges[] = {
      {"DROP TABLE metrics", "(metrics is not"},
      {"DROP VIEW run_overview", "(run_overview is not"},
      {"ALTER TABLE nodes ADD COLUMN x", "(nodes is not"},
  };
  for (const auto& [sql, words] : kChanges) {
    ASSERT_OK(Make());
    Forge(sql);
    EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(words))) << sql;
    EXPECT_THAT(Leftovers(), IsEmpty());
  }
}

TEST_F(BackupTest, WhatSomebodyHasAddedToTheDatabaseIsRestoredWithIt) {
  ASSERT_OK((*Connection::Open(File("hpc.db"), absl::ZeroDuration()))
                ->Execute("CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')"));
  ASSERT_OK(Make());
  ASSERT_OK(Restore());
  const auto db = *Connection::Open(Target() + "/hpc.db", absl::ZeroDuration());
  EXPECT_EQ(*db->ReadNumber("SELECT count(*) FROM notes WHERE text = 'mine'"), 1);
}

TEST_F(BackupTest, ANumberThatNobodyGaveOutIsDamage) {
  ASSERT_OK(Make());
  Forge("UPDATE events SET id = 9223372036854775807");
  EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("greater than any")));
  EXPECT_THAT(Leftovers(), IsEmpty());
}

TEST_F(BackupTest, WhatNoCoordinatorCouldStartWithIsDamage) {
  for (const char* sql :
       {"UPDATE runs SET node_list = 'pc1'", "UPDATE runs SET attempts = 1 << 32"}) {
    ASSERT_OK(Make());
    Forge(sql);
    EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("could start"))) << sql;
    EXPECT_THAT(Leftovers(), IsEmpty());
  }
}

TEST_F(BackupTest, WhatItsFirstBytesSayWrongIsDamage) {
  ASSERT_OK(Make());
  const std::string whole = *ReadFile(Backup());
  for (const size_t at : {18, 47}) {  // the versions needed to write the file, and of its schema
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x90);
    EXPECT_OK(WriteFileAtomically(Backup(), damaged));
    EXPECT_THAT(Restore(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("damaged"))) << at;
    EXPECT_THAT(Leftovers(), IsEmpty());
  }
}

// Flips bits at a few places, drawn from HPC_SEED.
TEST_F(BackupTest, WithAnyBitFlippedItIsRefusedOrRestoredWhole) {
  ASSERT_OK(Make());
  const std::string whole = *ReadFile(Backup());
  const char* seed = getenv("HPC_SEED");
  std::mt19937 random(seed == nullptr ? 1 : static_cast<uint32_t>(atoi(seed)));
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    // The beginning of the file holds most of what SQLite relies on.
    const size_t at = random() % (i % 3 == 0 ? size_t{200} : whole.size());
    const int bit = static_cast<int>(random() % 8);
    SCOPED_TRACE(absl::StrCat("bit ", bit, " of byte ", at));
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
    EXPECT_OK(WriteFileAtomically(Backup(), damaged));
    const absl::StatusOr<RestoredBackup> restored = Restore();
    if (restored.ok()) {
      EXPECT_EQ(*ReadFile(Target() + "/keys/authority.key"), "the key");
      EXPECT_EQ(*ReadFile(Target() + "/secrets/1"), "HF_TOKEN=x");
      EXPECT_EQ(Output(Target()), "hello\n");
      EXPECT_OK((*OpenSqliteStore(Target() + "/hpc.db"))->GetRun(1));
      std::filesystem::remove_all(Target());
    } else {
      ++refused;
      EXPECT_THAT(restored.status().code(),
                  AnyOf(absl::StatusCode::kDataLoss, absl::StatusCode::kInvalidArgument,
                        absl::StatusCode::kFailedPrecondition))
          << restored.status();
    }
    EXPECT_THAT(Leftovers(), IsEmpty());
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace hpc::coordinator
