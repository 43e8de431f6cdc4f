#include "worker/shipping/metric_shipper.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "common/text.h"
#include "protocol/limits.h"
#include "worker/core/metric_line.h"
#include "worker/core/rank_environment.h"

namespace hpc::worker {

void MetricShipper::Add(AttemptRef ref, const std::string& ranks_dir, const std::string& record_dir,
                        const std::vector<int32_t>& ranks, bool known) {
  for (int32_t rank : ranks) {
    const auto [it, is_new] =
        files_.try_emplace({ref, rank}, MetricsFile(ranks_dir, rank),
                           absl::StrCat(record_dir, "/metrics-", rank, ".base"), known);
    it->second.waiting = known;
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
  for (auto& [key, file] : files_) {
    file.waiting = true;
    file.drained = false;
  }
}

void MetricShipper::OnAck(const protocol::MetricAck& ack) {
  const auto it = files_.find({ack.ref, ack.rank});
  if (it == files_.end()) return;
  File& file = it->second;
  const int64_t offset = std::clamp<int64_t>(ack.end_offset, 0, protocol::kMaxOffset);
  std::erase_if(file.remarks, [&](const Remark& remark) {
    return remark.sent_with >= 0 && remark.sent_with <= offset;
  });
  if (file.waiting) {
    file.waiting = false;
    if (const int64_t lost = file.reader.Seek(offset); lost > 0) {
      Complain(it->first,
               absl::StrCat("its metrics file was cut or replaced while the coordinator was away: ",
                            lost, " bytes of it are lost"),
               &file);
    }
    file.resumed_at = file.reader.offset();
    for (Remark& remark : file.remarks) remark.sent_with = -1;
  }
  file.acked = std::min(offset, file.reader.offset());
  file.reader.Forget(file.acked);
}

std::pair<MetricShipper::Files::iterator, MetricShipper::Files::iterator> MetricShipper::FilesOf(
    std::optional<AttemptRef> only) {
  if (!only) return {files_.begin(), files_.end()};
  constexpr int32_t kLast = std::numeric_limits<int32_t>::max();
  return {files_.lower_bound({*only, 0}), files_.upper_bound({*only, kLast})};
}

void MetricShipper::Look(absl::Time now, std::optional<AttemptRef> only) {
  const auto [begin, end] = FilesOf(only);
  for (auto it = begin; it != end; ++it) {
    auto& [key, file] = *it;
    if (file.drained) continue;
    file.reader.Look(now);
    TakeRemark(key, &file);
  }
}

void MetricShipper::Pump(absl::Time now, std::optional<AttemptRef> only) {
  Look(now, only);
  const auto [begin, end] = FilesOf(only);
  for (auto it = begin; it != end; ++it) {
    auto& [key, file] = *it;
    while (!file.waiting && !file.drained &&
           file.reader.offset() - std::max(file.acked, file.resumed_at) < kWindowBytes &&
           SendPiece(key, now, &file)) {
    }
  }
}

bool MetricShipper::SendPiece(const Key& key, absl::Time now, File* file) {
  protocol::MetricData data{.ref = key.first, .rank = key.second};
  const int64_t begin = file->reader.offset();
  const bool full = begin >= kMaxFileBytes;
  if (full && !std::exchange(file->full, true)) {
    Complain(key,
             absl::StrCat("its metrics file is longer than ", kMaxFileBytes >> 20,
                          " MiB: the rest of it is not read"),
             file);
  }
  const bool more = !full && file->reader.Read(file->ended, [&](const MetricsReader::Line& line) {
    TakeLine(line, now, key, file, &data);
  });
  TakeRemark(key, file);
  data.end_offset = file->reader.offset();
  data.ended = full || (file->ended && !more);
  if (data.end_offset == begin && !data.ended) return more;
  for (Remark& remark : file->remarks) {
    if (remark.sent_with >= 0) continue;
    data.remarks.push_back(remark.text);
    remark.sent_with = data.end_offset;
  }
  if (data.ended) {
    AddSummary(*file, &data.remarks);
    file->drained = true;
    file->reader.Close();
  }
  send_(std::move(data));
  return more;
}

void MetricShipper::AddSummary(const File& file, std::vector<std::string>* remarks) {
  if (file.bad_lines > 1) {
    remarks->push_back(
        absl::StrCat(Count(file.bad_lines, "line"), " of its metrics file were dropped in all"));
  }
  if (file.breaks > 1) {
    remarks->push_back(
        absl::StrCat("its metrics file was cut or replaced ", file.breaks, " times in all"));
  }
}

void MetricShipper::TakeLine(const MetricsReader::Line& line, absl::Time now, const Key& key,
                             File* file, protocol::MetricData* data) {
  absl::Status problem;
  if (line.too_long) {
    problem = absl::InvalidArgumentError(
        absl::StrCat("it is longer than ", MetricsReader::kMaxLineBytes, " bytes"));
  } else if (!line.text.empty()) {
    const auto parsed = ParseMetricLine(line.text);
    problem = parsed.status();
    if (parsed.ok()) {
      const absl::Duration age = now - parsed->time.value_or(line.written);
      const int64_t step = parsed->step.value_or(line.number);
      for (const auto& [name, value] : parsed->values) {
        data->points.push_back({name, step, value, age});
      }
      data->checkpoint_saved |= parsed->TellsOfCheckpoint();
    }
  }
  // After a reconnect a line may be read again.
  if (line.end <= file->judged) return;
  file->judged = line.end;
  if (problem.ok() || file->bad_lines++ > 0) return;
  Complain(key,
           absl::StrCat("line ", line.number + 1,
                        " of its metrics file is dropped: ", std::string(problem.message())),
           file);
}

void MetricShipper::TakeRemark(const Key& key, File* file) {
  const std::string done = file->reader.TakeRemark();
  if (done.empty() || file->breaks++ > 0) return;
  Complain(key, absl::StrCat("its metrics file ", done, "; it is read from its beginning again"),
           file);
}

// Complains only about the first problem of its kind. A program that makes a mistake once usually
// makes it thousands of times.
void MetricShipper::Complain(const Key& key, const std::string& text, File* file) {
  LogWarning("metrics of a rank",
             {{"attempt", key.first.ToString()}, {"rank", key.second}, {"problem", text}});
  file->remarks.push_back({text});
}

bool MetricShipper::Done(AttemptRef ref) const {
  return std::all_of(files_.begin(), files_.end(), [&](const auto& entry) {
    return entry.first.first != ref ||
           (entry.second.drained && entry.second.acked >= entry.second.reader.offset());
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
