// The output of ranks is stored once and in order, whatever breaks off.
#include "coordinator/store/logs/log_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_matchers.h"
#include "coordinator/store/logs/log_format.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using ::testing::_;
using testing::At;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::TempDir;

constexpr protocol::StreamId kOut = {.ref = {1, 1}, .rank = 0, .is_stderr = false};
constexpr protocol::StreamId kErr = {.ref = {1, 1}, .rank = 0, .is_stderr = true};
constexpr protocol::StreamId kOut1 = {.ref = {1, 1}, .rank = 1, .is_stderr = false};

std::vector<std::string> Files(const std::string& dir) {
  std::vector<std::string> names;
  if (!std::filesystem::exists(dir)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class LogStoreTest : public ::testing::Test {
 protected:
  LogStoreTest() { Reopen({}); }

  void Reopen(const LogStoreOptions& options) {
    absl::StatusOr<std::unique_ptr<LogStore>> opened = LogStore::Open(dir_.path(), options);
    ASSERT_OK(opened);
    logs_ = *std::move(opened);
  }

  WriteBatch Flush() {
    WriteBatch batch;
    EXPECT_OK(logs_->Flush(&batch));
    return batch;
  }

  void Append(const protocol::StreamId& stream, int64_t offset, const std::string& data) {
    ASSERT_OK(logs_->Append(stream, offset, data, At(offset)));
  }

  std::vector<LogRecord> ReadAll(RunId run = 1, int64_t max_bytes = 1 << 20) {
    std::vector<LogRecord> all;
    int64_t position = 0;
    while (true) {
      absl::StatusOr<std::vector<LogRecord>> some = logs_->Read(run, position, max_bytes);
      EXPECT_OK(some);
      if (!some.ok() || some->empty()) return all;
      position = some->back().next_position;
      all.insert(all.end(), some->begin(), some->end());
    }
  }

  // The text that a stream's records join to. The records must have no gaps.
  std::string Text(const protocol::StreamId& stream) {
    std::string text;
    for (const LogRecord& record : ReadAll(stream.ref.run)) {
      if (record.stream != stream) continue;
      EXPECT_EQ(record.offset, static_cast<int64_t>(text.size()));
      text += record.data;
    }
    return text;
  }

  std::string RunDir() const { return dir_.File("1"); }

  TempDir dir_;
  std::unique_ptr<LogStore> logs_;
};

TEST_F(LogStoreTest, ReadsBackInTheOrderOfArrival) {
  Append(kOut, 0, "one");
  Append(kErr, 0, std::string("\0\xff", 2));
  Append(kOut, 3, "two");
  Flush();
  const std::vector<LogRecord> records = ReadAll();
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(records[0].position, 0);
  EXPECT_EQ(records[0].stream, kOut);
  EXPECT_EQ(records[0].data, "one");
  EXPECT_EQ(records[1].stream, kErr);
  EXPECT_EQ(records[1].data, std::string("\0\xff", 2));
  EXPECT_EQ(records[1].position, records[0].next_position);
  EXPECT_EQ(records[2].offset, 3);
  EXPECT_EQ(records[2].at, At(3));
  EXPECT_EQ(records[2].next_position, logs_->EndPosition(1));
}

TEST_F(LogStoreTest, ShowsNothingBeforeItIsFlushed) {
  Append(kOut, 0, "one");
  EXPECT_TRUE(logs_->dirty());
  EXPECT_THAT(ReadAll(), IsEmpty());
  EXPECT_EQ(logs_->EndPosition(1), 0);
  EXPECT_THAT(*logs_->Lengths({1, 1}), ElementsAre(Pair(kOut, 0)));
  Flush();
  EXPECT_FALSE(logs_->dirty());
  EXPECT_EQ(Text(kOut), "one");
  EXPECT_THAT(*logs_->Lengths({1, 1}), ElementsAre(Pair(kOut, 3)));
}

TEST_F(LogStoreTest, DropsWhatItHasAlready) {
  Append(kOut, 0, "hello");
  EXPECT_EQ(*logs_->Append(kOut, 0, "hello", At(0)), 5);
  EXPECT_EQ(*logs_->Append(kOut, 2, "ll", At(0)), 5);
  EXPECT_EQ(*logs_->Append(kOut, 3, "lo world", At(0)), 11);
  Flush();
  EXPECT_EQ(*logs_->Append(kOut, 0, "hello world", At(0)), 11);
  EXPECT_FALSE(logs_->dirty());
  EXPECT_EQ(Text(kOut), "hello world");
}

TEST_F(LogStoreTest, RefusesAGap) {
  Append(kOut, 0, "hello");
  EXPECT_THAT(logs_->Append(kOut, 6, "x", At(0)),
              StatusIs(absl::StatusCode::kOutOfRange,
                       "stdout of rank 0 of attempt 1.1 is stored up to byte 5, and byte 6 cannot "
                       "follow: send from 5"));
  EXPECT_THAT(logs_->Append(kErr, 1, "x", At(0)), StatusIs(absl::StatusCode::kOutOfRange, _));
  Flush();
  EXPECT_THAT(ReadAll(), SizeIs(1));
  EXPECT_THAT(*logs_->Lengths({1, 1}), ElementsAre(Pair(kOut, 5)));
}

TEST_F(LogStoreTest, RefusesWhatIsNoStream) {
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(logs_->Append({.ref = {0, 1}}, 0, "x", At(0)), StatusIs(code, _));
  EXPECT_THAT(logs_->Append({.ref = {1, 0}}, 0, "x", At(0)), StatusIs(code, _));
  EXPECT_THAT(logs_->Append({.ref = {1, 1}, .rank = -1}, 0, "x", At(0)), StatusIs(code, _));
  EXPECT_THAT(logs_->Append(kOut, -1, "x", At(0)), StatusIs(code, _));
}

TEST_F(LogStoreTest, KeepsRunsAndAttemptsApart) {
  const protocol::StreamId second_attempt = {.ref = {1, 2}};
  const protocol::StreamId other_run = {.ref = {2, 1}};
  Append(kOut, 0, "a");
  Append(second_attempt, 0, "bb");
  Append(other_run, 0, "ccc");
  Flush();
  EXPECT_EQ(Text(kOut), "a");
  EXPECT_EQ(Text(second_attempt), "bb");
  EXPECT_EQ(Text(other_run), "ccc");
  EXPECT_THAT(*logs_->Lengths({1, 2}), ElementsAre(Pair(second_attempt, 2)));
}

TEST_F(LogStoreTest, ARunWithoutOutputHasNoFile) {
  ASSERT_OK(logs_->EndStream(kOut, 0));
  const WriteBatch batch = Flush();
  ASSERT_THAT(batch.log_streams, SizeIs(1));
  EXPECT_EQ(batch.log_streams[0].bytes, 0);
  WriteBatch sealing;
  ASSERT_OK(logs_->Seal(1, &sealing));
  EXPECT_TRUE(sealing.empty());
  EXPECT_THAT(Files(dir_.path()), IsEmpty());
  EXPECT_THAT(ReadAll(), IsEmpty());
}

TEST_F(LogStoreTest, GoesOnAfterARestart) {
  Append(kOut, 0, "one");
  Append(kErr, 0, "error");
  Flush();
  Reopen({});
  EXPECT_THAT(*logs_->Lengths({1, 1}), ElementsAre(Pair(kOut, 3), Pair(kErr, 5)));
  Append(kOut, 0, "onetwo");
  Flush();
  EXPECT_EQ(Text(kOut), "onetwo");
  EXPECT_EQ(Text(kErr), "error");
}

TEST_F(LogStoreTest, RecordsEachSegmentAndTheEndOfEachStream) {
  Append(kOut, 0, "one");
  const int64_t bytes = kRecordHeaderBytes + 3;
  const LogSegmentRecord live = {.run = 1, .bytes = bytes, .stored_bytes = bytes};
  EXPECT_THAT(Flush().log_segments, ElementsAre(live));
  ASSERT_OK(logs_->EndStream(kOut, 7));
  const LogStreamRecord ended = {
      .ref = {1, 1}, .rank = 0, .is_stderr = false, .bytes = 3, .cut_bytes = 7};
  const WriteBatch batch = Flush();
  EXPECT_THAT(batch.log_streams, ElementsAre(ended));
  EXPECT_THAT(batch.log_segments, IsEmpty());
}

// Fills several segments of 300 bytes; returns what stdout should be.
std::string FillSegments(LogStore* logs, WriteBatch* batch) {
  std::string text;
  for (int i = 0; i < 40; ++i) {
    const std::string line = absl::StrCat("line ", i, "\n");
    EXPECT_OK(logs->Append(kOut, static_cast<int64_t>(text.size()), line, At(i)));
    text += line;
    if (i == 20) {
      EXPECT_OK(logs->Append(kErr, 0, "warning", At(i)));
    }
    if (i % 3 == 0) {
      EXPECT_OK(logs->Flush(batch));
    }
  }
  EXPECT_OK(logs->Flush(batch));
  return text;
}

TEST_F(LogStoreTest, SealsFullSegmentsAndReadsAcrossThem) {
  Reopen({.segment_bytes = 300});
  WriteBatch batch;
  const std::string text = FillSegments(logs_.get(), &batch);
  const std::vector<std::string> files = Files(RunDir());
  ASSERT_GT(files.size(), 3u);
  for (size_t i = 0; i + 1 < files.size(); ++i) EXPECT_THAT(files[i], HasSubstr(".zst"));
  EXPECT_THAT(files.back(), HasSubstr(".log"));
  EXPECT_EQ(Text(kOut), text);
  EXPECT_EQ(Text(kErr), "warning");

  // Reads one record at a time, and from any record on.
  const std::vector<LogRecord> records = ReadAll();
  EXPECT_THAT(ReadAll(1, 1), SizeIs(records.size()));
  for (const LogRecord& record : records) {
    EXPECT_EQ(logs_->Read(1, record.position, 1)->front().data, record.data);
  }
  EXPECT_EQ(logs_->EndPosition(1), records.back().next_position);
}

TEST_F(LogStoreTest, KnowsLengthsFromTheNewestSegmentAlone) {
  Reopen({.segment_bytes = 300});
  WriteBatch batch;
  const std::string text = FillSegments(logs_.get(), &batch);
  const std::vector<std::string> files = Files(RunDir());
  for (size_t i = 0; i + 1 < files.size(); ++i) std::filesystem::remove(RunDir() + "/" + files[i]);
  Reopen({.segment_bytes = 300});
  const auto length = static_cast<int64_t>(text.size());
  EXPECT_THAT(*logs_->Lengths({1, 1}), ElementsAre(Pair(kOut, length), Pair(kErr, 7)));
  // What is left can still be read, from any position.
  EXPECT_THAT(*logs_->Read(1, 0, 1 << 20), Not(IsEmpty()));
}

TEST_F(LogStoreTest, RecordsOfSegmentsAgreeWithTheFiles) {
  Reopen({.segment_bytes = 300});
  WriteBatch batch;
  FillSegments(logs_.get(), &batch);
  ASSERT_OK(logs_->Seal(1, &batch));
  std::map<int64_t, LogSegmentRecord> newest;
  for (const LogSegmentRecord& record : batch.log_segments) newest[record.first_position] = record;
  int64_t position = 0;
  for (const auto& [first, record] : newest) {
    EXPECT_EQ(first, position);
    EXPECT_TRUE(record.sealed);
    const std::string path = absl::StrFormat("%s/%020d.zst", RunDir(), first);
    EXPECT_EQ(record.stored_bytes, static_cast<int64_t>(std::filesystem::file_size(path)));
    position += record.bytes;
  }
  EXPECT_THAT(Files(RunDir()), SizeIs(newest.size()));
  EXPECT_GE(position, logs_->EndPosition(1));
}

TEST_F(LogStoreTest, ASealedRunIsReadAndEvenGoesOn) {
  Append(kOut, 0, "one");
  WriteBatch batch;
  ASSERT_OK(logs_->Seal(1, &batch));
  EXPECT_THAT(Files(RunDir()), ElementsAre("00000000000000000000.zst"));
  EXPECT_EQ(Text(kOut), "one");
  Reopen({});
  EXPECT_EQ(Text(kOut), "one");
  Append(kOut, 0, "one late");
  Flush();
  EXPECT_EQ(Text(kOut), "one late");
  EXPECT_THAT(Files(RunDir()), SizeIs(2));
}

TEST_F(LogStoreTest, SealingAgainOnlyTellsTheSameAgain) {
  Append(kOut, 0, "one");
  WriteBatch first, second;
  ASSERT_OK(logs_->Seal(1, &first));
  ASSERT_OK(logs_->Seal(1, &second));
  EXPECT_EQ(first.log_segments.back(), second.log_segments.back());
}

TEST_F(LogStoreTest, AnInterruptedSealingLeavesOneForm) {
  Append(kOut, 0, "one");
  Flush();
  const std::string log = RunDir() + "/00000000000000000000.log";
  const std::string zst = RunDir() + "/00000000000000000000.zst";
  std::filesystem::copy_file(log, dir_.File("kept"));
  WriteBatch batch;
  ASSERT_OK(logs_->Seal(1, &batch));
  // One leftover of a crash after the rename and before the removal, and one of a crash before the
  // rename.
  std::filesystem::copy_file(dir_.File("kept"), log);
  std::filesystem::copy_file(zst, zst + ".77.tmp");
  Reopen({});
  EXPECT_EQ(Text(kOut), "one");
  EXPECT_THAT(Files(RunDir()), ElementsAre("00000000000000000000.zst"));
}

TEST_F(LogStoreTest, CutsWhatIsBeyondTheLimitAndCountsIt) {
  const LogStoreOptions options = {.run_limit_bytes = kRecordHeaderBytes + 10};
  Reopen(options);
  EXPECT_EQ(*logs_->Append(kOut, 0, "0123456789abc", At(0)), 13);
  EXPECT_EQ(*logs_->Append(kOut, 13, "def", At(0)), 16);
  EXPECT_EQ(*logs_->Append(kErr, 0, "error", At(0)), 5);
  Flush();
  EXPECT_EQ(Text(kOut), "0123456789");
  EXPECT_EQ(Text(kErr), "");
  EXPECT_THAT(*logs_->Lengths({1, 1}), ElementsAre(Pair(kOut, 16), Pair(kErr, 5)));

  // The count survives, and output that is only counted may have gaps.
  Reopen(options);
  EXPECT_THAT(*logs_->Lengths({1, 1}), ElementsAre(Pair(kOut, 16), Pair(kErr, 5)));
  EXPECT_EQ(*logs_->Append(kOut, 20, "xx", At(0)), 22);
  ASSERT_OK(logs_->EndStream(kOut, 100));
  const LogStreamRecord ended = {
      .ref = {1, 1}, .rank = 0, .is_stderr = false, .bytes = 10, .cut_bytes = 112};
  EXPECT_THAT(Flush().log_streams, ElementsAre(ended));
  EXPECT_EQ(logs_->EndPosition(1), ReadAll().back().next_position);
}

TEST_F(LogStoreTest, ARankThatNeverStopsDoesNotFillTheLogWithCuts) {
  Reopen({.run_limit_bytes = 100});
  const std::string data(100'000, 'x');
  int64_t offset = 0;
  for (int i = 0; i < 1000; ++i) {
    offset = *logs_->Append(kOut, offset, data, At(i));
    Flush();
  }
  EXPECT_EQ(offset, 100'000'000);
  EXPECT_LT(std::filesystem::file_size(RunDir() + "/00000000000000000000.log"), 10'000u);
}

TEST_F(LogStoreTest, SplitsLargeData) {
  const std::string data(3 * kMaxRecordData + 5, 'x');
  Append(kOut, 0, data);
  Flush();
  EXPECT_THAT(ReadAll(), SizeIs(4));
  EXPECT_EQ(Text(kOut), data);
}

TEST_F(LogStoreTest, ReadsManySmallRecordsInBoundedPieces) {
  const int records = 20'000;
  for (int i = 0; i < records; ++i) Append(kOut, i, "x");
  Flush();
  const std::vector<LogRecord> some = *logs_->Read(1, 0, 5000);
  EXPECT_THAT(some, SizeIs(5000));
  EXPECT_EQ(Text(kOut).size(), static_cast<size_t>(records));
}

TEST_F(LogStoreTest, APositionThatWasNotHandedOutIsAnError) {
  Append(kOut, 0, "one");
  Flush();
  EXPECT_THAT(logs_->Read(1, 1, 100),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("position 1")));
  EXPECT_THAT(logs_->Read(1, -1, 100), StatusIs(absl::StatusCode::kInvalidArgument, _));
  EXPECT_THAT(*logs_->Read(1, 1000, 100), IsEmpty());
}

// Damages one byte of a file. A negative `at` counts from the end.
void Damage(const std::string& path, int at) {
  std::string bytes = *ReadFile(path);
  char& byte = at < 0 ? bytes.end()[at] : bytes[static_cast<size_t>(at)];
  byte = static_cast<char>(byte ^ 0x55);
  ASSERT_OK(WriteFileAtomically(path, bytes));
}

TEST_F(LogStoreTest, ADamagedFileIsAHoleThatNamesItAndTheRestIsRead) {
  Reopen({.segment_bytes = 300});
  WriteBatch batch;
  FillSegments(logs_.get(), &batch);
  ASSERT_OK(logs_->Seal(1, &batch));
  const std::vector<LogRecord> whole = ReadAll();
  const std::vector<std::string> files = Files(RunDir());
  const std::string path = RunDir() + "/" + files[1];
  for (const int at : {0, 4, 20, -20}) {
    SCOPED_TRACE(at);
    const std::string good = *ReadFile(path);
    Damage(path, at);
    Reopen({.segment_bytes = 300});
    std::vector<LogRecord> records = ReadAll();
    const auto hole = std::find_if(records.begin(), records.end(),
                                   [](const LogRecord& record) { return !record.missing.empty(); });
    ASSERT_NE(hole, records.end());
    EXPECT_THAT(hole->missing, HasSubstr("damaged"));
    EXPECT_EQ(absl::StrFormat("%020d.zst", hole->next_position), files[2]);
    EXPECT_EQ(records.back().position, whole.back().position);
    EXPECT_EQ(records.back().data, whole.back().data);
    ASSERT_OK(WriteFileAtomically(path, good));
  }
}

TEST_F(LogStoreTest, WhatADamagedLastFileHasLostIsTakenAgain) {
  for (const int at : {0, 4, 20, -20}) {
    SCOPED_TRACE(at);
    ASSERT_OK(RemoveTree(RunDir()));
    Reopen({.segment_bytes = 300});
    WriteBatch batch;
    const std::string text = FillSegments(logs_.get(), &batch);
    ASSERT_OK(logs_->Seal(1, &batch));
    const int64_t end = logs_->EndPosition(1);
    Damage(RunDir() + "/" + Files(RunDir()).back(), at);
    Reopen({.segment_bytes = 300});
    const int64_t length = logs_->Lengths({1, 1})->at(0).second;
    ASSERT_LT(length, static_cast<int64_t>(text.size()));
    Append(kOut, length, text.substr(static_cast<size_t>(length)));
    Flush();
    std::string read;
    int64_t position = 0;
    for (const LogRecord& record : ReadAll()) {
      EXPECT_GE(record.position, position);
      position = record.next_position;
      if (record.missing.empty() && record.stream == kOut) read += record.data;
    }
    EXPECT_EQ(read, text);
    EXPECT_GT(position, end) << "a reader that was behind the damaged file must see what is new";
  }
}

TEST_F(LogStoreTest, FollowsManyRunsAtOnce) {
  for (RunId run = 1; run <= 5000; ++run) {
    ASSERT_OK(logs_->EndStream({.ref = {run, 1}}, 0));
  }
  Append(kOut, 0, "one");
  EXPECT_THAT(Flush().log_streams, SizeIs(5000));
  EXPECT_EQ(Text(kOut), "one");
  Append(kOut, 3, "two");
  Flush();
  EXPECT_EQ(Text(kOut), "onetwo");
}

TEST_F(LogStoreTest, LogsOfRunsThatTheDatabaseDoesNotKnowAreNamed) {
  EXPECT_OK(CheckLogsAreOf(dir_.path() + "/none", 0));
  EXPECT_OK(CheckLogsAreOf(dir_.path(), 0));
  Append({.ref = {9, 1}}, 0, "nine");
  Append({.ref = {12, 1}}, 0, "twelve");
  Flush();
  EXPECT_OK(CheckLogsAreOf(dir_.path(), 12));
  EXPECT_THAT(
      CheckLogsAreOf(dir_.path(), 0),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               dir_.path() + " has output of run 12, but hpc.db beside it is missing or new: it "
                             "knows no run. Restore the hpc.db that belongs to these logs, or move "
                             "logs away to begin anew, without what was revoked and with run "
                             "numbers that PCs know: docs/OPERATIONS.md"));
  EXPECT_THAT(CheckLogsAreOf(dir_.path(), 10),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is older: the last run it knows is 10. Restore")));
}

// If every flush looked at each stream, this would take minutes.
TEST_F(LogStoreTest, AFlushCostsWhatHasChangedNotWhatTheRunHas) {
  constexpr int32_t kRanks = 50'000;
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_OK(logs_->EndStream({.ref = {1, 1}, .rank = rank}, 0));
  }
  Flush();
  for (int32_t rank = 0; rank < kRanks; ++rank) {
    ASSERT_OK(logs_->EndStream({.ref = {1, 1}, .rank = rank, .is_stderr = true}, rank));
    ASSERT_THAT(Flush().log_streams, SizeIs(1));
  }
}

// The machine stopped during the last write, so any part of it may have arrived.
TEST_F(LogStoreTest, ATornTailIsCutAtEveryByteAndSentAgain) {
  Append(kOut, 0, "first line\n");
  Append(kErr, 0, "an error\n");
  Append(kOut, 11, "second line\n");
  Append(kOut1, 0, "other rank\n");
  Flush();
  const std::string bytes = *ReadFile(RunDir() + "/00000000000000000000.log");
  const std::vector<LogRecord> records = ReadAll();

  for (size_t kept = 0; kept <= bytes.size(); ++kept) {
    SCOPED_TRACE(kept);
    ASSERT_OK(RemoveTree(RunDir()));
    ASSERT_OK(MakeDirs(RunDir()));
    ASSERT_OK(WriteFileAtomically(RunDir() + "/00000000000000000000.log", bytes.substr(0, kept)));
    Reopen({});
    // The complete records are there, and nothing else is.
    size_t whole = 0;
    while (whole < records.size() && records[whole].next_position <= static_cast<int64_t>(kept)) {
      ++whole;
    }
    ASSERT_THAT(ReadAll(), SizeIs(whole));
    // The workers send from what is durable, and nothing is lost or doubled.
    Append(kOut,
           whole > 2   ? 23
           : whole > 0 ? 11
                       : 0,
           whole > 2   ? ""
           : whole > 0 ? "second line\n"
                       : "first line\nsecond line\n");
    Append(kErr, 0, "an error\n");
    Append(kOut1, 0, "other rank\n");
    Flush();
    ASSERT_EQ(Text(kOut), "first line\nsecond line\n");
    ASSERT_EQ(Text(kErr), "an error\n");
    ASSERT_EQ(Text(kOut1), "other rank\n");
  }
}

// Pages of a file may reach the disk in any order, so garbage may stand before the end as well.
TEST_F(LogStoreTest, ADamagedTailIsCutBeforeTheFirstBadRecord) {
  Append(kOut, 0, "first line\n");
  Append(kOut, 11, "second line\n");
  Append(kOut, 23, "third line\n");
  Flush();
  const std::string path = RunDir() + "/00000000000000000000.log";
  const std::string bytes = *ReadFile(path);
  const size_t second = kRecordHeaderBytes + 11;
  for (size_t at = second; at < second + kRecordHeaderBytes + 12; ++at) {
    SCOPED_TRACE(at);
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    ASSERT_OK(WriteFileAtomically(path, damaged));
    Reopen({});
    EXPECT_EQ(Text(kOut), "first line\n");
    EXPECT_THAT(*logs_->Lengths({1, 1}), ElementsAre(Pair(kOut, 11)));
    // Otherwise the third record would be found again behind a new second one.
    EXPECT_EQ(std::filesystem::file_size(path), second);
  }
}

// The torn segment is the one behind the sealed ones. Its first record says what came before.
TEST_F(LogStoreTest, ATornNewSegmentLosesNothingOfTheSealedOnes) {
  Reopen({.segment_bytes = 300});
  WriteBatch batch;
  const std::string text = FillSegments(logs_.get(), &batch);
  const std::string newest = RunDir() + "/" + Files(RunDir()).back();
  const std::string bytes = *ReadFile(newest);
  for (size_t kept = 0; kept <= bytes.size(); ++kept) {
    SCOPED_TRACE(kept);
    ASSERT_OK(WriteFileAtomically(newest, bytes.substr(0, kept)));
    Reopen({.segment_bytes = 300});
    const std::string stored = Text(kOut);
    ASSERT_EQ(text.substr(0, stored.size()), stored);
    ASSERT_THAT(*logs_->Lengths({1, 1}),
                ElementsAre(Pair(kOut, static_cast<int64_t>(stored.size())), Pair(kErr, 7)));
    Append(kOut, static_cast<int64_t>(stored.size()), text.substr(stored.size()));
    Flush();
    ASSERT_EQ(Text(kOut), text);
  }
}

}  // namespace
}  // namespace hpc::coordinator
