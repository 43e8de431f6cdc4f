#include "coordinator/runtime/metric_intake.h"

#include <iterator>

#include "common/status_macros.h"

namespace hpc::coordinator {

absl::StatusOr<std::map<int32_t, int64_t>*> MetricIntake::Known(AttemptRef ref) {
  const auto found = known_.find(ref);
  if (found != known_.end()) return &found->second;
  HPC_ASSIGN_OR_RETURN(const std::vector<MetricOffset> stored, store_->MetricOffsets(ref));
  std::map<int32_t, int64_t>& offsets = known_[ref];
  for (const MetricOffset& offset : stored) offsets[offset.rank] = offset.offset;
  return &offsets;
}

absl::StatusOr<std::map<int32_t, int64_t>> MetricIntake::Offsets(AttemptRef ref) {
  HPC_ASSIGN_OR_RETURN(const auto* known, Known(ref));
  return *known;
}

absl::Status MetricIntake::Add(const std::string& node, const MetricOffset& offset,
                               std::vector<MetricPoint> points, bool last) {
  HPC_ASSIGN_OR_RETURN(auto* known, Known(offset.ref));
  int64_t& end = (*known)[offset.rank];
  MetricOffset reached = offset;
  if (offset.offset > end) {
    end = offset.offset;
    points_.insert(points_.end(), std::make_move_iterator(points.begin()),
                   std::make_move_iterator(points.end()));
  } else {
    reached.offset = end;
  }
  receipts_[{offset.ref, offset.rank}] = {node, reached};
  urgent_ |= last;
  return absl::OkStatus();
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

void MetricIntake::Forget(RunId run) {
  known_.erase(known_.lower_bound({run, INT32_MIN}), known_.lower_bound({run + 1, INT32_MIN}));
}

}  // namespace hpc::coordinator
