// A backup as a stream: first messages that say what is being done, then the file.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_BACKUP_SOURCE_H_
#define HPC_COORDINATOR_RPC_ANSWERS_BACKUP_SOURCE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "coordinator/rpc/answers/later.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/runtime/backup_job.h"
#include "hpc/v1/nodes.pb.h"

namespace hpc::coordinator {

class BackupSource final : public Source<v1::BackupPiece> {
 public:
  BackupSource(std::shared_ptr<BackupJob> job, Later later)
      : job_(std::move(job)), later_(std::move(later)) {}

  void OnOpen(std::function<void()> wake) override { wake_ = std::move(wake); }
  absl::StatusOr<Step> Next(v1::BackupPiece* message) override;

 private:
  void LookAgain();

  const std::shared_ptr<BackupJob> job_;
  const Later later_;
  std::function<void()> wake_;
  std::string told_;
  bool looking_ = false;  // a timer will wake it
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_BACKUP_SOURCE_H_
