// The service Runs. Each method: check, look up, act, convert.
#ifndef HPC_COORDINATOR_RPC_HANDLERS_RUNS_HANDLERS_H_
#define HPC_COORDINATOR_RPC_HANDLERS_RUNS_HANDLERS_H_

#include "coordinator/rpc/answers/reply.h"
#include "coordinator/rpc/doors/caller.h"
#include "coordinator/runtime/engine.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

class RunsHandlers {
 public:
  explicit RunsHandlers(Engine* engine) : engine_(engine) {}

  void Submit(const Caller& caller, const v1::SubmitRequest& request,
              Reply<v1::SubmitResponse> reply);
  void Cancel(const Caller& caller, const v1::CancelRequest& request,
              Reply<v1::CancelResponse> reply);
  void Change(const Caller& caller, const v1::ChangeRequest& request,
              Reply<v1::ChangeResponse> reply);
  void Get(const Caller& caller, const v1::GetRunRequest& request, Reply<v1::RunDetail> reply);
  void ListExperiments(const Caller& caller, const v1::ListExperimentsRequest& request,
                       Reply<v1::ListExperimentsResponse> reply);

  SourceOr<v1::FollowResponse> Follow(const Caller& caller, const v1::FollowRequest& request);
  SourceOr<v1::WaitResponse> Wait(const Caller& caller, const v1::WaitRequest& request);
  SourceOr<v1::ListRunsResponse> List(const Caller& caller, const v1::ListRunsRequest& request);
  SourceOr<v1::LogPiece> ReadLog(const Caller& caller, const v1::ReadLogRequest& request);
  SourceOr<v1::ListMetricsResponse> ListMetrics(const Caller& caller,
                                                const v1::ListMetricsRequest& request);

 private:
  // Finds out why nothing can be done to a run that the core does not know.
  template <typename Response>
  void Refuse(const Caller& caller, RunId run, Reply<Response> reply);

  Engine* const engine_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_HANDLERS_RUNS_HANDLERS_H_
