// Stays with a run until it is over: shows its output, what it waits for, and how it ended.
#ifndef HPC_CLIENT_CLI_FOLLOWER_H_
#define HPC_CLIENT_CLI_FOLLOWER_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "client/cli/moves.h"
#include "client/cli/rank_output.h"
#include "client/cli/session.h"

namespace hpc::client {

class Follower {
 public:
  // Output is shown if `labelling` is set.
  Follower(Session* session, int64_t run, std::optional<Labelling> labelling);

  // The exit code of the run. Cancelled if the client was interrupted meanwhile.
  absl::StatusOr<int> FollowToEnd(Client* client);

 private:
  bool HasRun(Client* client) const;
  void OnState(const v1::RunUpdate& update);
  void ShowProgress(const v1::RunUpdate& update);

  Session* session_;
  const int64_t id_;
  std::optional<RankOutput> output_;
  Moves moves_;
  v1::Run run_;  // as last heard
};

// On stderr: how a run ended that did not succeed, and the commands that say more. `ran`: it may
// have output.
void ReportOutcome(Session* session, const v1::Run& run, bool ran);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_FOLLOWER_H_
