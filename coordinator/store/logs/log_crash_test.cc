// A crash may come after any file operation, and the disk may run full at any moment. What was made
// durable is there, in order, and the rest can be sent again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_matchers.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/testing/memory_files.h"
#include "coordinator/store/testing/records.h"

namespace hpc::coordinator {
namespace {

using testing::At;
using ::testing::Each;
using ::testing::EndsWith;
using testing::Leftover;
using testing::MemoryFiles;

constexpr protocol::StreamId kOut = {.ref = {1, 1}, .rank = 0, .is_stderr = false};
constexpr protocol::StreamId kErr = {.ref = {1, 1}, .rank = 0, .is_stderr = true};
constexpr int kLines = 24;

// A worker with two streams, and the coordinator's log of its run. It sends line by line what is
// not acknowledged yet, and takes a flush that succeeded for the acknowledgement.
class Sender {
 public:
  explicit Sender(MemoryFiles* files) : files_(files) {
    for (int i = 0; i < kLines; ++i) {
      absl::StrAppend(&text_[kOut], "line ", i, " of stdout\n");
      if (i % 4 == 0) absl::StrAppend(&text_[kErr], "warning ", i, "\n");
    }
  }

  absl::Status Open() {
    absl::StatusOr<std::unique_ptr<LogStore>> opened =
        LogStore::Open("/logs", {.segment_bytes = 300}, files_);
    if (!opened.ok()) return opened.status();
    logs_ = *std::move(opened);
    absl::StatusOr<std::vector<std::pair<protocol::StreamId, int64_t>>> lengths =
        logs_->Lengths({1, 1});
    if (!lengths.ok()) return lengths.status();
    sent_.clear();
    for (const auto& [stream, length] : *lengths) sent_[stream] = length;
    return absl::OkStatus();
  }

  // Sends everything and seals. `retries`: how often a flush that finds no space is repeated.
  absl::Status Run(int retries) {
    while (sent_[kOut] < Size(kOut) || sent_[kErr] < Size(kErr)) {
      Send(kOut, 40);
      Send(kErr, 10);
      const absl::Status status =
          Flush([&](WriteBatch* batch) { return logs_->Flush(batch); }, &retries);
      if (!status.ok()) return status;
    }
    return Flush([&](WriteBatch* batch) { return logs_->Seal(1, batch); }, &retries);
  }

  // Everything that was acknowledged can be read, and nothing that was never sent can be.
  void Check() {
    std::map<protocol::StreamId, std::string> read;
    int64_t position = 0;
    while (true) {
      const std::vector<LogRecord> some = *logs_->Read(1, position, 100);
      if (some.empty()) break;
      for (const LogRecord& record : some) {
        ASSERT_EQ(record.missing, "");
        ASSERT_EQ(record.offset, static_cast<int64_t>(read[record.stream].size()));
        read[record.stream] += record.data;
      }
      position = some.back().next_position;
    }
    for (const auto& [stream, text] : text_) {
      ASSERT_GE(static_cast<int64_t>(read[stream].size()), acknowledged_[stream]);
      ASSERT_EQ(read[stream], text.substr(0, read[stream].size()));
    }
  }

  bool Complete() { return acknowledged_[kOut] == Size(kOut) && acknowledged_[kErr] == Size(kErr); }

 private:
  int64_t Size(const protocol::StreamId& stream) {
    return static_cast<int64_t>(text_[stream].size());
  }

  void Send(const protocol::StreamId& stream, size_t bytes) {
    const int64_t from = sent_[stream];
    const std::string data = text_[stream].substr(static_cast<size_t>(from), bytes);
    EXPECT_OK(logs_->Append(stream, from, data, At(from)));
    sent_[stream] += static_cast<int64_t>(data.size());
  }

  template <typename Call>
  absl::Status Flush(Call call, int* retries) {
    WriteBatch batch;
    absl::Status status = call(&batch);
    while (absl::IsResourceExhausted(status) && --*retries >= 0) {
      Check();
      status = call(&batch);
    }
    if (status.ok()) acknowledged_ = sent_;
    return status;
  }

  MemoryFiles* const files_;
  std::map<protocol::StreamId, std::string> text_;
  std::map<protocol::StreamId, int64_t> sent_, acknowledged_;
  std::unique_ptr<LogStore> logs_;
};

// The daemon starts again on what is left, and finishes.
void FinishAfterRestart(MemoryFiles* files, Sender* sender, Leftover left) {
  files->Restart(left);
  ASSERT_OK(sender->Open());
  sender->Check();
  ASSERT_OK(sender->Run(0));
  ASSERT_OK(sender->Open());
  sender->Check();
  EXPECT_TRUE(sender->Complete());
  EXPECT_THAT(files->paths(), Each(EndsWith(".zst")));
}

class LogCrashTest : public ::testing::TestWithParam<Leftover> {};

TEST_P(LogCrashTest, AnyOperationMayBeTheLast) {
  bool crashed = true;
  for (int64_t last = 0; crashed; ++last) {
    SCOPED_TRACE(last);
    MemoryFiles files;
    files.crash_at = last;
    Sender sender(&files);
    if (sender.Open().ok()) sender.Run(0).IgnoreError();
    crashed = files.crashed();
    ASSERT_NO_FATAL_FAILURE(FinishAfterRestart(&files, &sender, GetParam()));
    EXPECT_TRUE(crashed || last > 50);
  }
}

// The start after a crash may itself crash at any operation.
TEST_P(LogCrashTest, AnyOperationOfTheRecoveryMayBeTheLast) {
  for (int64_t first = 5; first < 80; first += 3) {
    bool crashed = true;
    for (int64_t more = 0; crashed && more < 12; ++more) {
      SCOPED_TRACE(absl::StrCat(first, " and ", more));
      MemoryFiles files;
      files.crash_at = first;
      Sender sender(&files);
      if (sender.Open().ok()) sender.Run(0).IgnoreError();
      files.Restart(GetParam());
      files.crash_at = files.operations() + more;
      if (sender.Open().ok()) sender.Run(0).IgnoreError();
      crashed = files.crashed();
      ASSERT_NO_FATAL_FAILURE(FinishAfterRestart(&files, &sender, GetParam()));
    }
  }
}

// From some operation on the disk is full, and then the daemon is stopped: either by an owner who
// makes room, or because it cannot go on.
TEST_P(LogCrashTest, AFullDiskMayBeTheLastThatTheDaemonSees) {
  for (int64_t full = 1; full < 100; ++full) {
    SCOPED_TRACE(full);
    MemoryFiles files;
    files.full_from = full;
    Sender sender(&files);
    if (sender.Open().ok()) sender.Run(3).IgnoreError();
    ASSERT_NO_FATAL_FAILURE(FinishAfterRestart(&files, &sender, GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Crashes, LogCrashTest,
                         ::testing::Values(Leftover::kAllThatWasDone, Leftover::kAllThatWasSynced,
                                           Leftover::kSyncedAndRemovals));

TEST(LogFullDiskTest, AnyOperationsMayFindNoSpaceAndTheLogGoesOnWhenThereIs) {
  for (int64_t full = 1; full < 100; ++full) {
    for (int64_t until : {full + 1, full + 2, full + 7, full + 30}) {
      SCOPED_TRACE(absl::StrCat(full, " to ", until));
      MemoryFiles files;
      files.full_from = full;
      files.full_until = until;
      Sender sender(&files);
      ASSERT_OK(sender.Open());
      ASSERT_OK(sender.Run(100));
      sender.Check();
      ASSERT_TRUE(sender.Complete());
      ASSERT_OK(sender.Open());
      sender.Check();
    }
  }
}

}  // namespace
}  // namespace hpc::coordinator
