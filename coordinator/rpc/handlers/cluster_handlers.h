// The service Cluster: status, events, why, and backups.
#ifndef HPC_COORDINATOR_RPC_HANDLERS_CLUSTER_HANDLERS_H_
#define HPC_COORDINATOR_RPC_HANDLERS_CLUSTER_HANDLERS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "coordinator/rpc/answers/later.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/rpc/doors/caller.h"
#include "coordinator/runtime/backup_job.h"
#include "coordinator/runtime/engine.h"
#include "hpc/v1/nodes.pb.h"

namespace hpc::coordinator {

class ClusterHandlers {
 public:
  ClusterHandlers(Engine* engine, std::string state_dir)
      : engine_(engine), state_dir_(std::move(state_dir)), started_at_(engine->now().wall) {}

  // Must be called before any call is handled.
  void Serve(Later later) { later_ = std::move(later); }

  void GetStatus(const Caller& caller, const v1::GetStatusRequest& request,
                 Reply<v1::GetStatusResponse> reply);
  void Why(const Caller& caller, const v1::WhyRequest& request, Reply<v1::WhyResponse> reply);
  SourceOr<v1::ListEventsResponse> ListEvents(const Caller& caller,
                                              const v1::ListEventsRequest& request);
  SourceOr<v1::BackupPiece> Backup(const Caller& caller, const v1::BackupRequest& request);

 private:
  void WhyRun(RunId run, Reply<v1::WhyResponse> reply);
  void WhyNode(const std::string& name, Reply<v1::WhyResponse> reply);

  Engine* const engine_;
  const std::string state_dir_;
  const absl::Time started_at_;
  Later later_;
  std::weak_ptr<BackupJob> backup_;  // the backup that is being made
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_HANDLERS_CLUSTER_HANDLERS_H_
