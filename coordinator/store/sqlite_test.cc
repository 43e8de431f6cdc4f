#include "coordinator/store/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/status_matchers.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TempDir;

class SqliteTest : public ::testing::Test {
 protected:
  SqliteTest() : db_(Open()) { EXPECT_OK(db_->Execute("CREATE TABLE t (a INTEGER UNIQUE, b)")); }

  std::unique_ptr<Connection> Open() {
    return *Connection::Open(dir_.File("t.db"), absl::ZeroDuration());
  }

  std::vector<int64_t> Numbers() {
    std::vector<int64_t> found;
    EXPECT_OK(db_->Sql("SELECT a FROM t ORDER BY a").Query([&](Row& row) {
      found.push_back(row.Int());
    }));
    return found;
  }

  TempDir dir_;
  std::unique_ptr<Connection> db_;
};

TEST_F(SqliteTest, AStatementForgetsWhatWasBoundOnceItHasRun) {
  Statement& insert = db_->Sql("INSERT INTO t VALUES (?, ?)");
  ASSERT_OK(insert.Int(1).Text("x").Run());
  ASSERT_OK(insert.Int(2).Run());
  EXPECT_EQ(&insert, &db_->Sql("INSERT INTO t VALUES (?, ?)"));
  bool second_is_null = false;
  ASSERT_OK(db_->Sql("SELECT b FROM t WHERE a = 2").Query([&](Row& row) {
    second_is_null = row.NextIsNull();
  }));
  EXPECT_TRUE(second_is_null);
}

TEST_F(SqliteTest, TextKeepsEveryByte) {
  const std::string text("\0ü\xff'\"", 6);
  ASSERT_OK(db_->Sql("INSERT INTO t VALUES (1, ?)").Text(text).Run());
  ASSERT_OK(db_->Sql("INSERT INTO t VALUES (2, ?)").Text(absl::string_view()).Run());
  std::vector<std::string> found;
  ASSERT_OK(db_->Sql("SELECT b FROM t WHERE b IS NOT NULL ORDER BY a").Query([&](Row& row) {
    found.push_back(row.Text());
  }));
  EXPECT_THAT(found, ElementsAre(text, ""));
}

TEST_F(SqliteTest, TimesAndDurationsAreMicrosecondsAndNullWhenInfinite) {
  ASSERT_OK(db_->Sql("INSERT INTO t VALUES (1, ?)").Time(absl::FromUnixMicros(-5)).Run());
  ASSERT_OK(db_->Sql("INSERT INTO t VALUES (2, ?)").Time(absl::InfinitePast()).Run());
  ASSERT_OK(db_->Sql("INSERT INTO t VALUES (3, ?)").Duration(absl::Milliseconds(2)).Run());
  ASSERT_OK(db_->Sql("INSERT INTO t VALUES (4, ?)").Duration(absl::InfiniteDuration()).Run());
  std::vector<int64_t> found;
  ASSERT_OK(db_->Sql("SELECT b FROM t ORDER BY a").Query([&](Row& row) {
    found.push_back(row.Int(-99));
  }));
  EXPECT_THAT(found, ElementsAre(-5, -99, 2000, -99));
}

TEST_F(SqliteTest, ATransactionIsDoneWholeOrNotAtAll) {
  ASSERT_OK(db_->InTransaction([&] { return db_->Sql("INSERT INTO t VALUES (1, 0)").Run(); }));
  const absl::Status refused = db_->InTransaction([&]() -> absl::Status {
    HPC_RETURN_IF_ERROR(db_->Sql("INSERT INTO t VALUES (2, 0)").Run());
    return absl::AbortedError("changed my mind");
  });
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kAborted, "changed my mind"));
  EXPECT_THAT(Numbers(), ElementsAre(1));
}

TEST_F(SqliteTest, AStatementThatFailedCanBeRunAgain) {
  Statement& insert = db_->Sql("INSERT INTO t VALUES (?, 0)");
  ASSERT_OK(insert.Int(1).Run());
  EXPECT_THAT(insert.Int(1).Run(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("UNIQUE constraint failed: t.a")));
  EXPECT_OK(insert.Int(2).Run());
  EXPECT_THAT(Numbers(), ElementsAre(1, 2));
}

TEST_F(SqliteTest, ATextThatIsNotUnderstoodIsTriedAgain) {
  EXPECT_THAT(db_->Sql("SELECT c FROM u").Int(1).Run(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("no such table: u")));
  ASSERT_OK(db_->Execute("CREATE TABLE u (c)"));
  EXPECT_OK(db_->Sql("SELECT c FROM u").Run());
}

TEST_F(SqliteTest, ARejectedValueIsDataLossThatNamesTheColumn) {
  ASSERT_OK(db_->Execute("INSERT INTO t VALUES (1, 'odd')"));
  const absl::Status status = db_->Sql("SELECT a, b FROM t").Query([](Row& row) {
    row.Int();
    row.Text();
    row.Reject("is odd");
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                               AllOf(HasSubstr("t.db"), HasSubstr("column b is odd"))));
  EXPECT_THAT(Numbers(), ElementsAre(1));
}

TEST_F(SqliteTest, ANumberThatDoesNotFitIsDataLoss) {
  EXPECT_OK(db_->Execute("INSERT INTO t VALUES (4294967297, 4294967297)"));
  EXPECT_THAT(db_->Sql("SELECT b FROM t").Query([](Row& row) { row.Int32(); }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("column b has a number")));
  EXPECT_THAT(db_->Sql("SELECT a FROM t").Query([](Row& row) { row.OptionalInt32(); }),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("column a has a number")));
}

TEST_F(SqliteTest, AFullDiskIsResourceExhaustedAndChangesNothing) {
  ASSERT_OK(db_->Execute("PRAGMA max_page_count = 8"));
  const std::string big(64 << 10, 'x');
  const absl::Status status = db_->InTransaction([&]() -> absl::Status {
    HPC_RETURN_IF_ERROR(db_->Sql("INSERT INTO t VALUES (1, 0)").Run());
    return db_->Sql("INSERT INTO t VALUES (2, ?)").Text(big).Run();
  });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                               AllOf(HasSubstr("t.db"), HasSubstr("free space"))));
  EXPECT_THAT(Numbers(), ElementsAre());
  EXPECT_OK(db_->InTransaction([&] { return db_->Sql("INSERT INTO t VALUES (3, 0)").Run(); }));
  EXPECT_THAT(Numbers(), ElementsAre(3));
}

TEST_F(SqliteTest, AnotherWriterIsUnavailable) {
  const std::unique_ptr<Connection> other = Open();
  ASSERT_OK(other->Execute("BEGIN IMMEDIATE"));
  const auto nothing = [] { return absl::OkStatus(); };
  EXPECT_THAT(db_->InTransaction(nothing),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("locked by another process")));
  ASSERT_OK(other->Execute("ROLLBACK"));
  EXPECT_OK(db_->InTransaction(nothing));
}

TEST_F(SqliteTest, WritingWhereOnlyReadingIsAllowedIsPermissionDenied) {
  ASSERT_OK(db_->Execute("PRAGMA query_only = ON"));
  EXPECT_THAT(db_->Sql("INSERT INTO t VALUES (1, 0)").Run(),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("cannot be written")));
}

TEST_F(SqliteTest, ADatabaseIsItsOwnersAlone) {
  const std::string path = dir_.File("private.db");
  const auto modes = [&] {
    std::string all;
    for (const char* const suffix : {"", "-wal", "-shm"}) {
      struct stat info = {};
      EXPECT_EQ(stat((path + suffix).c_str(), &info), 0) << suffix;
      absl::StrAppend(&all, absl::Hex(info.st_mode & 0777), " ");
    }
    return all;
  };
  const mode_t before = umask(0);
  auto db = Connection::Open(path, absl::ZeroDuration());
  ASSERT_OK(db);
  ASSERT_OK((*db)->Execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x)"));
  umask(before);
  EXPECT_EQ(modes(), "180 180 180 ");
  for (const char* const suffix : {"", "-wal", "-shm"}) chmod((path + suffix).c_str(), 0644);
  ASSERT_OK(Connection::Open(path, absl::ZeroDuration()));
  EXPECT_EQ(modes(), "180 180 180 ") << "one of an earlier version";
}

TEST_F(SqliteTest, ALogIsLengthenedBehindWhatItHolds) {
  const std::string path = dir_.File("long.db");
  auto db = *Connection::Open(path, absl::ZeroDuration());
  ASSERT_OK(db->Execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)"));
  const auto log_size = [&] { return std::filesystem::file_size(path + "-wal"); };
  const auto had = log_size();
  ASSERT_GT(had, 0u);
  ASSERT_OK(db->LengthenLog(1'000'000));
  EXPECT_EQ(log_size(), 1'000'000u);
  ASSERT_OK(db->LengthenLog(500'000));
  ASSERT_OK(db->Execute("INSERT INTO t VALUES (2)"));
  EXPECT_EQ(log_size(), 1'000'000u) << "it is overwritten";

  // The copy is what a killed process leaves.
  const std::string copy = dir_.File("copy.db");
  for (const char* const suffix : {"", "-wal"}) {
    ASSERT_OK(WriteFileAtomically(copy + suffix, *ReadFile(path + suffix)));
  }
  auto again = *Connection::Open(copy, absl::ZeroDuration());
  EXPECT_EQ(*again->ReadNumber("SELECT sum(x) FROM t"), 3);
}

TEST_F(SqliteTest, ALogIsNotLengthenedWhereTheDiskHasLittleRoom) {
  auto db = *Connection::Open(dir_.File("large.db"), absl::ZeroDuration());
  ASSERT_OK(db->Execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x)"));
  EXPECT_THAT(db->LengthenLog(int64_t{1} << 50), StatusIs(absl::StatusCode::kResourceExhausted, _));
}

TEST_F(SqliteTest, WhatCannotBeOpenedSaysWhy) {
  const auto open = [&](const std::string& path) {
    return Connection::Open(path, absl::ZeroDuration()).status();
  };
  ASSERT_OK(WriteFileAtomically(dir_.File("file"), "x"));
  EXPECT_THAT(open(dir_.File("missing/t.db")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing/t.db")));
  EXPECT_THAT(open(dir_.File("file/t.db")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("Not a directory")));
  EXPECT_THAT(open(dir_.path()), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  ASSERT_EQ(mkfifo(dir_.File("new.db-journal").c_str(), 0600), 0);
  EXPECT_THAT(open(dir_.File("new.db")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("new.db-journal: not a")));
}

}  // namespace
}  // namespace hpc::coordinator
