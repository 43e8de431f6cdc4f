#include "coordinator/rpc/answers/backup_source.h"

#include <optional>
#include <utility>

#include "common/status_macros.h"

namespace hpc::coordinator {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(20);

}  // namespace

// Looks again by a timer. The thread that makes the backup cannot wake the loop, since the loop's
// queue may be gone by then.
void BackupSource::LookAgain() {
  if (std::exchange(looking_, true)) return;
  later_(kLookEvery, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.expired()) return;
    looking_ = false;
    wake_();
  });
}

absl::StatusOr<Step> BackupSource::Next(v1::BackupPiece* message) {
  const std::optional<absl::Status> result = job_->result();
  if (!result) {
    LookAgain();
    std::string doing = job_->doing();
    if (doing == told_) return Step::kWait;
    message->set_doing(doing);
    told_ = std::move(doing);
    return Step::kMessage;
  }
  HPC_RETURN_IF_ERROR(*result);
  HPC_ASSIGN_OR_RETURN(std::string piece, job_->Read());
  if (piece.empty()) return Step::kEnd;
  message->set_total_bytes(job_->bytes());
  message->set_data(std::move(piece));
  return Step::kMessage;
}

}  // namespace hpc::coordinator
