#include "worker/shipping/metrics_reader.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/files/files.h"
#include "common/process/log.h"
#include "protocol/limits.h"
#include "worker/supervisor_client/foreign_file.h"

namespace hpc::worker {
namespace {

// Each mark is a moment at which the length of the file is known, so a line without a time can be
// dated. If there are more marks than this, every other one is dropped.
constexpr size_t kMaxMarks = 1024;
// The last bytes that were read. They show whether the file was written anew.
constexpr size_t kTailBytes = 64;

int64_t ReadBase(const std::string& base_file) {
  int64_t base = 0;
  const auto text = ReadForeignFile(base_file, 32);
  const bool read = text.ok() && absl::SimpleAtoi(*text, &base);
  return read && base >= 0 && base <= protocol::kMaxOffset ? base : 0;
}

}  // namespace

MetricsReader::MetricsReader(const std::string& path, const std::string& base_file, bool known)
    : path_(path), base_file_(base_file), base_(known ? ReadBase(base_file) : 0) {}

void MetricsReader::Open() {
  auto file = OpenForeignFile(path_);
  file_ = file.ok() ? *std::move(file) : UniqueFd();
}

void MetricsReader::Look(absl::Time now) {
  now_ = now;
  if (!file_.ok()) Open();
  struct stat info;
  if (!file_.ok() || fstat(file_.get(), &info) != 0) return;
  if (info.st_size < position_) {
    BeginAnew(absl::StrCat("was cut from ", position_, " bytes to ", info.st_size));
  } else if (BytesBefore(position_, tail_.size()) != tail_) {
    BeginAnew("was written anew");
  }
  replaced_ = !IsInPlace();
  const int64_t end = base_ + info.st_size;
  if (end <= (marks_.empty() ? offset() : marks_.back().end)) return;
  if (marks_.size() >= kMaxMarks) {
    for (size_t i = 0; i < kMaxMarks / 2; ++i) marks_[i] = marks_[2 * i + 1];
    marks_.resize(kMaxMarks / 2);
  }
  marks_.push_back({end, std::min(now, absl::TimeFromTimespec(info.st_mtim))});
}

bool MetricsReader::IsInPlace() const {
  struct stat mine, named;
  if (fstat(file_.get(), &mine) != 0 || lstat(path_.c_str(), &named) != 0) return true;
  return mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

void MetricsReader::BeginAnew(const std::string& remark) {
  remark_ = remark;
  base_ = offset();
  position_ = 0;
  line_ = 0;
  skipping_ = false;
  tail_.clear();
  marks_.clear();
  if (const absl::Status kept = WriteFileAtomically(base_file_, absl::StrCat(base_)); !kept.ok()) {
    LogWarning("where a metrics file begins cannot be kept", {{"error", kept.ToString()}});
  }
}

bool MetricsReader::Read(bool ended, const std::function<void(const Line&)>& take) {
  if (!file_.ok()) return false;
  std::string buffer(kPieceBytes, '\0');
  const ssize_t n = pread(file_.get(), buffer.data(), buffer.size(), position_);
  const bool at_end = n < kPieceBytes;
  absl::string_view rest(buffer.data(), static_cast<size_t>(std::max<ssize_t>(n, 0)));
  const int64_t begin = position_;
  for (;;) {
    const size_t end = rest.find('\n');
    const bool whole = end != absl::string_view::npos;
    const bool last = !whole && at_end && (ended || replaced_) && !rest.empty();
    if (!whole && !last) break;
    const absl::string_view text = rest.substr(0, end);
    rest.remove_prefix(text.size() + (whole ? 1 : 0));
    position_ += static_cast<int64_t>(text.size()) + (whole ? 1 : 0);
    const bool too_long = static_cast<int64_t>(text.size()) > kMaxLineBytes;
    if (!std::exchange(skipping_, false)) {
      take({too_long ? "" : text, too_long, line_, offset(), WrittenAt(offset())});
    }
    ++line_;
  }
  if (static_cast<int64_t>(rest.size()) > kMaxLineBytes || (skipping_ && !rest.empty())) {
    position_ += static_cast<int64_t>(rest.size());
    if (!std::exchange(skipping_, true)) take({"", true, line_, offset(), now_});
  }
  const size_t read = static_cast<size_t>(position_ - begin);
  if (read > 0)
    tail_ = buffer.substr(read - std::min(read, kTailBytes), std::min(read, kTailBytes));
  if (at_end && replaced_) {
    Open();
    replaced_ = false;
    BeginAnew("was replaced by another file");
    Look(now_);
    return true;
  }
  return position_ > begin && !at_end;
}

int64_t MetricsReader::Seek(int64_t offset) {
  if (!file_.ok()) Open();
  position_ = std::max<int64_t>(0, offset - base_);
  line_ = CountLines(position_);
  tail_.clear();
  skipping_ = !AtLineBegin();
  return std::max<int64_t>(0, base_ - offset);
}

void MetricsReader::Forget(int64_t offset) {
  while (!marks_.empty() && marks_.front().end <= offset) marks_.pop_front();
}

absl::Time MetricsReader::WrittenAt(int64_t end) const {
  const auto mark = std::lower_bound(marks_.begin(), marks_.end(), end,
                                     [](const Mark& m, int64_t e) { return m.end < e; });
  return mark == marks_.end() ? now_ : mark->at;
}

int64_t MetricsReader::CountLines(int64_t end) const {
  std::string buffer(64 << 10, '\0');
  int64_t lines = 0;
  for (int64_t at = 0; at < end;) {
    const size_t wanted = static_cast<size_t>(std::min<int64_t>(buffer.size(), end - at));
    const ssize_t n = pread(file_.get(), buffer.data(), wanted, at);
    if (n <= 0) break;
    lines += std::count(buffer.begin(), buffer.begin() + n, '\n');
    at += n;
  }
  return lines;
}

bool MetricsReader::AtLineBegin() const {
  const std::string before = BytesBefore(position_, position_ > 0 ? 1 : 0);
  return before.empty() || before == "\n";
}

std::string MetricsReader::BytesBefore(int64_t position, size_t count) const {
  std::string bytes(count, '\0');
  const ssize_t n = pread(file_.get(), bytes.data(), count, position - static_cast<int64_t>(count));
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return bytes;
}

}  // namespace hpc::worker
