#include "coordinator/rpc/handlers/submission.h"

#include <utility>

#include "common/status_macros.h"
#include "coordinator/rpc/convert/convert_spec.h"

namespace hpc::coordinator {
namespace {

absl::Status CheckSubmission(const Engine& engine, const Caller& caller,
                             const v1::SubmitRequest& request) {
  HPC_RETURN_IF_ERROR(CheckSubmit(request));
  return CheckPriority(caller.standing, request.spec().priority(),
                       engine.cluster().options().user_priority);
}

}  // namespace

void SubmitRun(Engine* engine, const Caller& caller, const v1::SubmitRequest& request,
               std::function<void(absl::StatusOr<RunId>)> done) {
  if (absl::Status status = CheckSubmission(*engine, caller, request); !status.ok()) {
    return engine->AfterCommit([done = std::move(done), status] { done(status); });
  }
  RunRequest run = ToRunRequest(request.spec());
  run.user = caller.user;
  engine->Submit(run, ToRunProgram(request), std::move(done));
}

}  // namespace hpc::coordinator
