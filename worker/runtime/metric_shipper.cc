#include "worker/runtime/metric_shipper.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "worker/core/metric_line.h"
#include "worker/core/rank_environment.h"

namespace hpc::worker {

void MetricShipper::Add(AttemptRef ref, const std::string& attempt_dir,
                        const std::vector<int32_t>& ranks, bool known) {
  for (int32_t rank : ranks) {
    File& file = files_[{ref, rank}];
    file.path = MetricsFile(attempt_dir, rank);
    file.waiting = known;
  }
}

void MetricShipper::Remove(AttemptRef ref) {
  std::erase_if(files_, [&](const auto& entry) { return entry.first.first == ref; });
}

void MetricShipper::OnReturned(AttemptRef ref) {
  for (auto& [key, file] : files_) {
    if (key.first == ref) file.ended = true;
  }
}

void MetricShipper::OnConnected() {
  for (auto& [key, file] : files_) file.waiting = true;
}

void MetricShipper::OnAck(const MetricAck& ack) {
  auto it = files_.find({ack.ref, ack.rank});
  if (it == files_.end()) return;
  File& file = it->second;
  if (file.waiting) {
    file.waiting = false;
    file.drained = false;
    file.skipping = false;
    file.sent = ack.end_offset;
    file.line = CountLines(file, file.sent);
  }
  file.acked = std::min(ack.end_offset, file.sent);
}

int64_t MetricShipper::CountLines(const File& file, int64_t end) {
  const UniqueFd fd(open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string buffer(64 << 10, '\0');
  int64_t lines = 0;
  for (int64_t at = 0; at < end;) {
    const size_t wanted = static_cast<size_t>(std::min<int64_t>(buffer.size(), end - at));
    const ssize_t n = pread(fd.get(), buffer.data(), wanted, at);
    if (n <= 0) break;
    lines += std::count(buffer.begin(), buffer.begin() + n, '\n');
    at += n;
  }
  return lines;
}

void MetricShipper::Pump(absl::Time now) {
  for (auto& [key, file] : files_) {
    while (!file.waiting && !file.drained && file.sent - file.acked < kWindowBytes &&
           SendPiece(key, now, &file)) {
    }
  }
}

bool MetricShipper::SendPiece(const Key& key, absl::Time now, File* file) {
  if (!file->file.ok()) file->file.Reset(open(file->path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string buffer(kPieceBytes, '\0');
  const ssize_t n =
      file->file.ok() ? pread(file->file.get(), buffer.data(), buffer.size(), file->sent) : 0;
  const bool at_end = n < kPieceBytes;
  absl::string_view rest(buffer.data(), static_cast<size_t>(std::max<ssize_t>(n, 0)));
  MetricData data{key.first, key.second, file->sent, {}};
  for (;;) {
    const size_t end = rest.find('\n');
    const bool whole = end != absl::string_view::npos;
    const bool last = !whole && at_end && file->ended && !rest.empty();
    if (!whole && !last) break;
    const absl::string_view line = rest.substr(0, end);
    if (file->skipping) {
      file->skipping = false;
    } else {
      TakeLine(key, line, now, file, &data.points);
    }
    ++file->line;
    data.end_offset += static_cast<int64_t>(line.size()) + (whole ? 1 : 0);
    rest.remove_prefix(line.size() + (whole ? 1 : 0));
  }
  if (static_cast<int64_t>(rest.size()) > kMaxLineBytes || (file->skipping && !rest.empty())) {
    if (!file->skipping) WarnOnce(key, absl::StrCat("longer than ", kMaxLineBytes, " bytes"), file);
    file->skipping = true;
    data.end_offset += static_cast<int64_t>(rest.size());
  }
  const bool progress = data.end_offset > file->sent;
  file->sent = data.end_offset;
  if (progress) send_(std::move(data));
  if (at_end && file->ended) {
    file->drained = true;
    file->file.Reset();
  }
  return progress && !at_end;
}

void MetricShipper::TakeLine(const Key& key, absl::string_view line, absl::Time now, File* file,
                             std::vector<MetricPoint>* points) const {
  if (line.empty()) return;
  if (static_cast<int64_t>(line.size()) > kMaxLineBytes) {
    WarnOnce(key, absl::StrCat("longer than ", kMaxLineBytes, " bytes"), file);
    return;
  }
  const auto parsed = ParseMetricLine(line);
  if (!parsed.ok()) {
    WarnOnce(key, absl::string_view(parsed.status().message()), file);
    return;
  }
  for (const auto& [name, value] : parsed->values) {
    points->push_back({name, parsed->step.value_or(file->line), value, parsed->time.value_or(now)});
  }
}

// A program that writes one bad line usually writes thousands.
void MetricShipper::WarnOnce(const Key& key, absl::string_view problem, File* file) {
  if (file->bad_lines++ > 0) return;
  LogWarning("a line of a metrics file is dropped, and further bad ones silently",
             {{"attempt", key.first.ToString()},
              {"rank", key.second},
              {"line", file->line + 1},
              {"problem", problem}});
}

bool MetricShipper::Done(AttemptRef ref) const {
  return std::all_of(files_.begin(), files_.end(), [&](const auto& entry) {
    return entry.first.first != ref ||
           (entry.second.drained && entry.second.acked >= entry.second.sent);
  });
}

int64_t MetricShipper::AcknowledgedBytes(AttemptRef ref) const {
  int64_t bytes = 0;
  for (const auto& [key, file] : files_) {
    if (key.first == ref) bytes += file.acked;
  }
  return bytes;
}

}  // namespace hpc::worker
