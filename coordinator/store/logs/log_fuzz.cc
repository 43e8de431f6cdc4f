// Files of a run's log with any bytes in them, under any names. Opening, reading, appending and
// sealing neither fail nor take more memory than the files hold, and a reader gets to the end.
//
// The input is a sequence of files. Each has one byte that says what the file is, the length of its
// content (two bytes, little endian), and the content. If the first byte is even, the checksums of
// the file's records are made right.
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "common/process/log.h"
#include "coordinator/store/logs/log_format.h"
#include "coordinator/store/logs/log_segments.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/testing/memory_files.h"

namespace hpc::coordinator {
namespace {

using testing::MemoryFiles;

constexpr protocol::StreamId kOut = {.ref = {1, 1}};
constexpr size_t kMaxFiles = 6;

void Check(bool holds) {
  if (!holds) abort();
}

uint32_t Get32(const std::string& bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

// Follows the lengths from one record to the next, as far as they lead.
void MakeChecksumsRight(std::string* log) {
  constexpr auto kHeader = static_cast<size_t>(kRecordHeaderBytes);
  for (size_t at = 0; at + kHeader <= log->size();) {
    const size_t end = at + kHeader + Get32(*log, at + 8);
    if (end > log->size()) return;
    const auto* covered = reinterpret_cast<const unsigned char*>(log->data()) + at + 8;
    const auto crc = static_cast<uint32_t>(crc32_z(0, covered, end - at - 8));
    for (size_t i = 0; i < 4; ++i) (*log)[at + 4 + i] = static_cast<char>(crc >> (8 * i));
    at = end;
  }
}

std::string PathOf(uint8_t what) {
  static constexpr int64_t kPositions[] = {0, 43, 1'000, 100'000, int64_t{1} << 40, INT64_MAX};
  const int64_t position = kPositions[(what >> 2) % std::size(kPositions)];
  return absl::StrFormat("/logs/1/%020d.%s", position, (what & 2) != 0 ? "zst" : "log");
}

class Log {
 public:
  Log(const uint8_t* data, size_t size) {
    Check(files_.MakeDir("/logs").ok());
    for (size_t count = 0; count < kMaxFiles && size >= 3; ++count) {
      const size_t length = std::min(size - 3, data[1] + size_t{256} * data[2]);
      std::string bytes(reinterpret_cast<const char*>(data) + 3, length);
      if ((data[0] & 3) == 0) MakeChecksumsRight(&bytes);
      if (data[0] == 2) {
        Check(files_.Write(PathOf(0), 0, bytes).ok());
        Segment segment{.bytes = static_cast<int64_t>(length)};
        if (length > 0) Check(SegmentFolder("/logs/1", &files_).Seal(&segment).ok());
      } else {
        Check(files_.Write(PathOf(data[0]), 0, bytes).ok());
      }
      data += 3 + length;
      size -= 3 + length;
    }
  }

  void Open() {
    auto opened = LogStore::Open("/logs", {.segment_bytes = 300}, &files_);
    Check(opened.ok());
    logs_ = *std::move(opened);
  }

  // Reads from the beginning to the end, first one record at a time and then many.
  void Read() {
    const int64_t end = logs_->EndPosition(1);
    for (const int64_t most : {1, 1 << 20}) {
      for (int64_t position = 0; position < end;) {
        const auto records = logs_->Read(1, position, most);
        Check(records.ok());
        if (records->empty()) break;
        for (const LogRecord& record : *records) {
          Check(record.position >= position && record.next_position > record.position);
          position = record.next_position;
        }
      }
    }
    // These positions were not handed out.
    for (const int64_t position : {end / 2, end - 1, end + 1, INT64_MAX}) {
      logs_->Read(1, position, INT64_MAX).IgnoreError();
    }
  }

  void GoOn() {
    const auto lengths = logs_->Lengths(kOut.ref);
    Check(lengths.ok());
    int64_t length = 0;
    for (const auto& [stream, durable] : *lengths) {
      if (stream == kOut) length = durable;
    }
    Check(length >= 0 && length <= kMaxLogPosition);
    const auto after = logs_->Append(kOut, length, "more", absl::UnixEpoch());
    if (length <= kMaxLogPosition - 4) Check(after.ok() && *after == length + 4);
    Check(logs_->EndStream(kOut, 7).ok());
    WriteBatch batch;
    Check(logs_->Flush(&batch).ok());
  }

  void Seal() {
    WriteBatch batch;
    Check(logs_->Seal(1, &batch).ok());
  }

 private:
  MemoryFiles files_;
  std::unique_ptr<LogStore> logs_;
};

}  // namespace
}  // namespace hpc::coordinator

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hpc::coordinator;  // NOLINT: so that the calls read as elsewhere
  hpc::SetLogLevel(hpc::LogLevel::kError);
  Log log(data, size);
  log.Open();
  log.Read();
  log.GoOn();
  log.Read();
  log.Open();
  log.Read();
  log.Seal();
  log.Read();
  return 0;
}
