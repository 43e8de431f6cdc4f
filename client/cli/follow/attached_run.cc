#include "client/cli/follow/attached_run.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/exit_codes.h"
#include "client/cli/follow/follower.h"
#include "common/status_macros.h"

namespace hpc::client {
namespace {

int LeftWhileSubmitting(Session* session) {
  session->Notice(
      "left before the coordinator answered; 'hpcctl runs' shows whether the run was queued");
  return kExitDetached;
}

int Left(Session* session, int64_t id, bool asked_to_end) {
  if (asked_to_end) {
    session->Notice(absl::StrCat("left run ", id, ", which is being cancelled. 'hpcctl wait ", id,
                                 "' waits for its end"));
  } else {
    session->Notice(absl::StrCat("left run ", id,
                                 ", which GOES ON: the coordinator has not agreed to cancel it, or "
                                 "is away. Once it answers, 'hpcctl cancel ",
                                 id, "' ends the run, 'hpcctl logs -f ", id, "' follows it"));
  }
  return kExitDetached;
}

}  // namespace

absl::StatusOr<int> AttachedRun::Run(v1::RunSpec spec, Labelling labelling) {
  HPC_ASSIGN_OR_RETURN(Client * client, session_->Connect());
  interrupts_.SetClient(client);
  *spec.mutable_code() = code_.Finish(kCodeStateTime);
  const absl::StatusOr<int64_t> id = client->Submit(spec);
  if (absl::IsCancelled(id.status())) return LeftWhileSubmitting(session_);
  HPC_RETURN_IF_ERROR(id.status());
  interrupts_.SetRun(*id);
  // The number is printed first, because somebody may want to look at the run again even after a
  // success.
  session_->Notice(absl::StrCat("run ", *id));
  Follower follower(session_, *id, labelling);
  const absl::StatusOr<int> code_of_run = follower.FollowToEnd(client);
  if (absl::IsCancelled(code_of_run.status())) return Left(session_, *id, interrupts_.asked());
  return code_of_run;
}

}  // namespace hpc::client
