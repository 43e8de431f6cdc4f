#include "client/cli/follow/follower.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace hpc::client {

Follower::Follower(Session* session, int64_t run, Labelling labelling)
    : session_(session), id_(run), output_(session, run, labelling), teller_(session) {}

absl::StatusOr<int> Follower::FollowToEnd(Client* client) {
  v1::FollowRequest request;
  request.set_run(id_);
  request.set_with_output(true);
  v1::Run run;  // as last heard
  HPC_RETURN_IF_ERROR(client->Follow(request, [&](const v1::FollowResponse& response) {
    if (response.has_output()) {
      output_.Write(response.output());
      return TellLostOutput();
    }
    run = response.state().run();
    teller_.Tell(response.state());
  }));
  output_.Finish();
  return teller_.TellEnd(client, run);
}

void Follower::TellLostOutput() {
  const absl::Status written = session_->out().status();
  // Nobody reads it, and the run is being cancelled: said at the end.
  if (written.ok() || absl::IsDeadlineExceeded(written)) return;
  if (std::exchange(told_lost_output_, true)) return;
  session_->Notice(absl::StrCat(std::string(written.message()), ": run ", id_,
                                " goes on, and its output is shown no more; 'hpcctl logs ", id_,
                                "' has all of it"));
}

}  // namespace hpc::client
