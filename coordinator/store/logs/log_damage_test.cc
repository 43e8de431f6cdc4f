// Log files that contain something which we never write. The rest of such a file is lost, and
// nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/store/logs/log_format.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/testing/memory_files.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using ::hpc::testing::StatusIs;
using testing::At;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MemoryFiles;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr protocol::StreamId kOut = {.ref = {1, 1}};
constexpr char kLive[] = "/logs/1/00000000000000000000.log";
constexpr char kSealed[] = "/logs/1/00000000000000000000.zst";

// The header of a compressed file that claims to hold `bytes` bytes, with nothing behind it. With
// `whole_window`, reading it asks for that much memory at once.
std::string SealedHeader(uint32_t bytes, bool whole_window) {
  std::string header("\x28\xb5\x2f\xfd", 4);
  header += whole_window ? std::string("\xa0") : std::string("\x80\x48", 2);
  for (int shift = 0; shift < 32; shift += 8) header += static_cast<char>(bytes >> shift);
  return header;
}

int64_t PeakMemory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

class LogDamageTest : public ::testing::Test {
 protected:
  void Put(const std::string& path, const std::string& bytes) {
    ASSERT_OK(files_.Write(path, 0, bytes));
  }
  void Open(const LogStoreOptions& options = {}) {
    auto opened = LogStore::Open("/logs", options, &files_);
    ASSERT_OK(opened);
    logs_ = *std::move(opened);
  }
  std::vector<LogRecord> ReadAll() {
    std::vector<LogRecord> all;
    for (int64_t position = 0;; position = all.back().next_position) {
      const auto some = logs_->Read(1, position, 1 << 20);
      EXPECT_OK(some);
      if (!some.ok() || some->empty()) return all;
      all.insert(all.end(), some->begin(), some->end());
    }
  }
  // Writes `forged` behind the record "one". Only "one" stays, and the run goes on.
  void ExpectCutOff(const std::string& forged) {
    files_ = MemoryFiles();
    std::string log;
    AppendOutput(kOut, 0, At(0), "one", &log);
    Put(kLive, log + forged);
    Open();
    EXPECT_EQ(logs_->EndPosition(1), static_cast<int64_t>(log.size()));
    EXPECT_THAT(*logs_->Lengths({1, 1}), ElementsAre(Pair(kOut, 3)));
    EXPECT_OK(logs_->Append(kOut, 3, "two", At(1)));
    WriteBatch batch;
    EXPECT_OK(logs_->Flush(&batch));
    EXPECT_THAT(ReadAll(), SizeIs(2));
  }

  MemoryFiles files_;
  std::unique_ptr<LogStore> logs_;
};

TEST_F(LogDamageTest, NoMemoryIsTakenForWhatAHeaderClaims) {
  for (const bool whole_window : {false, true}) {
    const int64_t before = PeakMemory();
    Put(kSealed, SealedHeader(1 << 30, whole_window));
    Open();
    EXPECT_THAT(ReadAll(), ElementsAre(::testing::Field(&LogRecord::missing, HasSubstr(kSealed))));
    EXPECT_LT(PeakMemory() - before, 100 << 20);
  }
}

TEST_F(LogDamageTest, NorForWhatIsMissingBehindAFile) {
  std::string log;
  AppendOutput(kOut, 0, At(0), "one", &log);
  Put(kSealed, "no header");
  Put("/logs/1/00000900000000000000.log", log);
  Open();
  const std::vector<LogRecord> records = ReadAll();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(records[0].missing, HasSubstr(kSealed));
  EXPECT_EQ(records[1].data, "one");
}

TEST_F(LogDamageTest, OutputThatNoStreamReachesIsCutOff) {
  for (const int64_t offset : {INT64_MAX, INT64_MAX - 1, INT64_MIN, int64_t{-1}}) {
    std::string forged;
    AppendOutput(kOut, offset, At(0), "far", &forged);
    ExpectCutOff(forged);
  }
}

TEST_F(LogDamageTest, StreamsOfNoPossibleLengthAreCutOff) {
  for (const StreamExtent extent :
       {StreamExtent{INT64_MAX, 0}, StreamExtent{-1, 0}, StreamExtent{5, -1}, StreamExtent{5, 6}}) {
    std::string forged;
    AppendExtents({{kOut, extent}}, 3, &forged);
    ExpectCutOff(forged);
  }
}

TEST_F(LogDamageTest, OutputThatEndedLaterIsCutOff) {
  std::string forged;
  AppendExtents({{kOut, {3, 0}}}, 1'000'000, &forged);
  ExpectCutOff(forged);
}

TEST_F(LogDamageTest, OutputOfNothingIsCutOff) {
  std::string forged;
  AppendOutput(kOut, 3, At(0), "", &forged);
  ExpectCutOff(forged);
}

TEST_F(LogDamageTest, AFileAtNoPossiblePositionIsNotOfTheLog) {
  std::string log;
  AppendOutput(kOut, 0, At(0), "one", &log);
  for (const char* name :
       {"-0000000000000000001", "+0000000000000000001", "09223372036854775807"}) {
    files_ = MemoryFiles();
    Put(absl::StrCat("/logs/1/", name, ".log"), log);
    Open();
    EXPECT_THAT(ReadAll(), IsEmpty()) << name;
  }
}

TEST_F(LogDamageTest, WhatNoStreamReachesIsNotTaken) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  Open({.run_limit_bytes = 0});  // output is only counted, at any offset
  for (const int64_t offset : {INT64_MAX, INT64_MAX - 1, kMaxLogPosition}) {
    EXPECT_THAT(logs_->Append(kOut, offset, "x", At(0)), StatusIs(kInvalid, HasSubstr("offset")));
  }
  EXPECT_EQ(*logs_->Append(kOut, kMaxLogPosition - 1, "x", At(0)), kMaxLogPosition);
  for (const int64_t cut : {INT64_MAX, INT64_MIN, int64_t{-1}}) {
    EXPECT_THAT(logs_->EndStream(kOut, cut), StatusIs(kInvalid, HasSubstr(absl::StrCat(cut))));
  }
  EXPECT_OK(logs_->EndStream(kOut, 5));
}

}  // namespace
}  // namespace hpc::coordinator
