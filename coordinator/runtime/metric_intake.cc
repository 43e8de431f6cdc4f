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
  Run& known = known_[run];
  for (const MetricOffset& offset : stored) {
    known.offsets[offset.ref.number][offset.rank] = offset.offset;
    known.bytes += offset.offset;
  }
  return &known;
}

absl::StatusOr<std::map<int32_t, int64_t>> MetricIntake::Offsets(AttemptRef ref) {
  HPC_ASSIGN_OR_RETURN(Run * run, Known(ref.run));
  const auto found = run->offsets.find(ref.number);
  return found == run->offsets.end() ? std::map<int32_t, int64_t>() : found->second;
}

absl::StatusOr<bool> MetricIntake::Add(const std::string& node, const MetricOffset& offset,
                                       std::vector<MetricPoint> points, bool last) {
  HPC_ASSIGN_OR_RETURN(Run * run, Known(offset.ref.run));
  int64_t& end = run->offsets[offset.ref.number][offset.rank];
  const int64_t before = run->bytes;
  if (offset.offset > end) {
    run->bytes += offset.offset - end;
    end = offset.offset;
    if (run->bytes <= run_limit_) {
      points_.insert(points_.end(), std::make_move_iterator(points.begin()),
                     std::make_move_iterator(points.end()));
    }
  }
  receipts_[{offset.ref, offset.rank}] = {node, {offset.ref, offset.rank, end}};
  urgent_ |= last;
  return before <= run_limit_ && run->bytes > run_limit_;
}

std::string MetricIntake::CutWords() const {
  return absl::StrCat("the run has recorded ", HumanBytes(static_cast<uint64_t>(run_limit_)),
                      " of metrics, as much as is kept of one run; what follows is dropped");
}

std::vector<MetricReceipt> MetricIntake::Flush(WriteBatch* batch) {
  std::vector<MetricReceipt> receipts;
  for (auto& [key, receipt] : receipts_) {
    batch->metric_offsets.push_back(receipt.offset);
    receipts.push_back(std::move(receipt));
  }
  receipts_.clear();
  urgent_ = false;
  batch->metrics = std::exchange(points_, {});
  return receipts;
}

void MetricIntake::Forget(RunId run) { known_.erase(run); }

}  // namespace hpc::coordinator
