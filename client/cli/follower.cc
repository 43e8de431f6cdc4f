#include "client/cli/follower.h"

#include "common/status_macros.h"

namespace hpc::client {

Follower::Follower(Session* session, int64_t run, Labelling labelling)
    : id_(run), output_(session, run, labelling), teller_(session) {}

absl::StatusOr<int> Follower::FollowToEnd(Client* client) {
  v1::FollowRequest request;
  request.set_run(id_);
  request.set_with_output(true);
  v1::Run run;  // as last heard
  HPC_RETURN_IF_ERROR(client->Follow(request, [&](const v1::FollowResponse& response) {
    if (response.has_output()) return output_.Write(response.output());
    run = response.state().run();
    teller_.Tell(response.state());
  }));
  output_.Finish();
  return teller_.TellEnd(client, run);
}

}  // namespace hpc::client
