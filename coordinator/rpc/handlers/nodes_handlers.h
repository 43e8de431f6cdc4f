// The service Nodes. Each method: check, act, convert.
#ifndef HPC_COORDINATOR_RPC_HANDLERS_NODES_HANDLERS_H_
#define HPC_COORDINATOR_RPC_HANDLERS_NODES_HANDLERS_H_

#include "coordinator/rpc/answers/node_usage.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/rpc/doors/caller.h"
#include "coordinator/runtime/engine.h"
#include "hpc/v1/nodes.pb.h"

namespace hpc::coordinator {

class NodesHandlers {
 public:
  NodesHandlers(Engine* engine, const NodeUsage* usage) : engine_(engine), usage_(usage) {}

  void List(const Caller& caller, const v1::ListNodesRequest& request,
            Reply<v1::ListNodesResponse> reply);
  void Reclaim(const Caller& caller, const v1::ReclaimRequest& request,
               Reply<v1::ReclaimResponse> reply);
  void Lend(const Caller& caller, const v1::LendRequest& request, Reply<v1::LendResponse> reply);
  void Sleep(const Caller& caller, const v1::SleepRequest& request, Reply<v1::SleepResponse> reply);
  void Wake(const Caller& caller, const v1::WakeRequest& request, Reply<v1::WakeResponse> reply);
  void Forget(const Caller& caller, const v1::ForgetRequest& request,
              Reply<v1::ForgetResponse> reply);

 private:
  // PermissionDenied: the caller may only touch PCs that it owns, and does not own this one.
  absl::Status CheckOwner(const Caller& caller, const std::string& node) const;

  Engine* const engine_;
  const NodeUsage* const usage_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_HANDLERS_NODES_HANDLERS_H_
