#include "client/cli/follow/follower.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace hpc::client {

Follower::Follower(Session* session, int64_t run, Labelling labelling)
    : session_(session), id_(run), output_(session, run, labelling), teller_(session) {}

absl::StatusOr<int> Follower::FollowToEnd(Client* client) {
  request_.set_run(id_);
  request_.set_with_output(true);
  absl::Status status = Follow(client);
  if (absl::IsAborted(status) && GivenUp()) {
    request_.set_with_output(false);
    status = Follow(client);
  }
  HPC_RETURN_IF_ERROR(status);
  output_.Finish();
  return teller_.TellEnd(client, run_);
}

absl::Status Follower::Follow(Client* client) {
  return client->Follow(request_, [this](const v1::FollowResponse& response) -> absl::Status {
    if (response.has_output()) {
      output_.Write(response.output());
      TellLostOutput();
      return GivenUp() ? absl::AbortedError("nobody reads the output") : absl::OkStatus();
    }
    run_ = response.state().run();
    request_.set_after_event(response.state().event());
    teller_.Tell(response.state());
    return absl::OkStatus();
  });
}

bool Follower::GivenUp() const { return absl::IsDeadlineExceeded(session_->out().status()); }

void Follower::TellLostOutput() {
  const absl::Status written = session_->out().status();
  // That nobody reads it is said at the end.
  if (written.ok() || GivenUp()) return;
  if (std::exchange(told_lost_output_, true)) return;
  session_->Notice(absl::StrCat(std::string(written.message()), ": run ", id_,
                                " goes on, and its output is shown no more; 'hpcctl logs ", id_,
                                "' has all of it"));
}

}  // namespace hpc::client
