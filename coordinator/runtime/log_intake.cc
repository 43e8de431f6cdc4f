#include "coordinator/runtime/log_intake.h"

#include <utility>

#include "common/status_macros.h"

namespace hpc::coordinator {

absl::Status LogIntake::Data(const std::string& node, const protocol::StreamId& stream,
                             int64_t offset, absl::string_view data, absl::Time now) {
  HPC_ASSIGN_OR_RETURN(const int64_t length, logs_->Append(stream, offset, data, now));
  receipts_[stream] = {node, stream, length};
  return absl::OkStatus();
}

absl::Status LogIntake::End(const std::string& node, const protocol::StreamId& stream,
                            int64_t cut_bytes, bool awaited) {
  // Adds nothing new; this asks how long the stream is, for the receipt.
  HPC_ASSIGN_OR_RETURN(const int64_t length, logs_->Append(stream, 0, "", absl::InfinitePast()));
  HPC_RETURN_IF_ERROR(logs_->EndStream(stream, cut_bytes));
  receipts_[stream] = {node, stream, length};
  urgent_ |= awaited;
  return absl::OkStatus();
}

absl::StatusOr<std::vector<LogReceipt>> LogIntake::Flush(WriteBatch* batch) {
  HPC_RETURN_IF_ERROR(logs_->Flush(batch));
  std::vector<LogReceipt> receipts;
  receipts.reserve(receipts_.size());
  for (auto& [stream, receipt] : receipts_) receipts.push_back(std::move(receipt));
  receipts_.clear();
  urgent_ = false;
  return receipts;
}

}  // namespace hpc::coordinator
