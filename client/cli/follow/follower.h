// Stays with a run until it is over: shows its output, what it waits for, and how it ended.
#ifndef HPC_CLIENT_CLI_FOLLOW_FOLLOWER_H_
#define HPC_CLIENT_CLI_FOLLOW_FOLLOWER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "client/cli/follow/rank_output.h"
#include "client/cli/follow/run_teller.h"
#include "client/cli/session.h"

namespace hpc::client {

class Follower {
 public:
  Follower(Session* session, int64_t run, Labelling labelling);

  // Returns the exit code of the run. Cancelled: the client was interrupted meanwhile.
  absl::StatusOr<int> FollowToEnd(Client* client);

 private:
  // Follows the run with request_. Aborted: the output is given up.
  absl::Status Follow(Client* client);
  // Whether the run is being cancelled and nobody reads the output. What is left of it may be much,
  // and is not asked for then.
  bool GivenUp() const;
  // Says once, as soon as it is known, that some output of a rank could not be kept.
  void TellLostOutput();

  Session* const session_;
  const int64_t id_;
  v1::FollowRequest request_;
  v1::Run run_;  // as last heard
  RankOutput output_;
  RunTeller teller_;
  bool told_lost_output_ = false;
};

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOW_FOLLOWER_H_
