#include "coordinator/runtime/metric_intake.h"

#include <iterator>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::coordinator {

absl::StatusOr<MetricIntake::Run*> MetricIntake::Known(RunId run) {
  const auto found = known_.find(run);
  if (found != known_.end()) return &found->second;
  HPC_ASSIGN_OR_RETURN(const std::vector<MetricOffset> stored, store_->MetricOffsets(run));
  HPC_ASSIGN_OR_RETURN(std::vector<std::string> keys, store_->MetricKeys(run));
  Run& known = known_[run];
  for (const MetricOffset& offset : stored) {
    known.offsets[offset.ref.number][offset.rank] = offset.offset;
    known.bytes += offset.offset;
  }
  for (std::string& key : keys) known.keys.insert(std::move(key));
  return &known;
}

absl::StatusOr<std::map<int32_t, int64_t>> MetricIntake::Offsets(AttemptRef ref) {
  HPC_ASSIGN_OR_RETURN(Run * run, Known(ref.run));
  const auto found = run->offsets.find(ref.number);
  return found == run->offsets.end() ? std::map<int32_t, int64_t>() : found->second;
}

std::string MetricIntake::Keep(std::vector<MetricPoint> points, Run* run) {
  std::string cut;
  for (MetricPoint& point : points) {
    if (run->keys.size() < limits_.keys) {
      run->keys.insert(point.key);
    } else if (run->keys.count(point.key) == 0) {
      if (cut.empty()) cut = point.key;
      continue;
    }
    points_.push_back(std::move(point));
  }
  return cut;
}

absl::StatusOr<std::string> MetricIntake::Add(const std::string& node, const MetricOffset& offset,
                                              std::vector<MetricPoint> points, bool awaited) {
  HPC_ASSIGN_OR_RETURN(Run * run, Known(offset.ref.run));
  int64_t& end = run->offsets[offset.ref.number][offset.rank];
  const int64_t before = run->bytes;
  std::string cut_key;
  Due& due = due_[{offset.ref, offset.rank}];
  if (offset.offset > end) {
    due.is_new = true;
    run->bytes += offset.offset - end;
    end = offset.offset;
    if (run->bytes <= limits_.bytes) cut_key = Keep(std::move(points), run);
  }
  due.receipt = {node, {offset.ref, offset.rank, end}};
  urgent_ |= awaited;
  if (before <= limits_.bytes && run->bytes > limits_.bytes) {
    return absl::StrCat("the run has recorded ", HumanBytes(static_cast<uint64_t>(limits_.bytes)),
                        " of metrics, as much as is kept of one run; what follows is dropped");
  }
  if (cut_key.empty() || std::exchange(run->keys_cut, true)) return "";
  return absl::StrCat("the run has recorded metrics of ", limits_.keys,
                      " names, as many as are kept of one run; others are dropped, first '",
                      cut_key, "'. What changes from point to point belongs into the value,",
                      " or into \"step\"");
}

std::vector<MetricReceipt> MetricIntake::Flush(WriteBatch* batch) {
  std::vector<MetricReceipt> receipts;
  for (auto& [key, due] : due_) {
    if (due.is_new) batch->metric_offsets.push_back(due.receipt.offset);
    receipts.push_back(std::move(due.receipt));
  }
  due_.clear();
  urgent_ = false;
  batch->metrics = std::exchange(points_, {});
  return receipts;
}

void MetricIntake::Forget(RunId run) { known_.erase(run); }

}  // namespace hpc::coordinator
