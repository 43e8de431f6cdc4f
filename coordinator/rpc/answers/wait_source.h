// Waits for many runs. It tells each run as it ends, and also what the oldest run left does if that
// takes a while.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_WAIT_SOURCE_H_
#define HPC_COORDINATOR_RPC_ANSWERS_WAIT_SOURCE_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/rpc/answers/follow_source.h"
#include "coordinator/rpc/answers/pending_read.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/runtime/engine.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

class WaitSource final : public Source<v1::WaitResponse> {
 public:
  // Ends with NotFound before anything is told if one of the runs does not exist.
  WaitSource(Engine* engine, const v1::WaitRequest& request);
  ~WaitSource() override;

  void OnOpen(std::function<void()> wake) override;
  absl::StatusOr<Step> Next(v1::WaitResponse* message) override;

 private:
  // Notes the news of one run. Each run needs a watcher of its own.
  struct Waited final : Watcher {
    Waited(WaitSource* s, RunId r) : source(s), run(r) {}
    void Poke() override { source->OnMove(run); }
    void PokeProgress() override { source->OnProgress(run); }

    WaitSource* const source;
    const RunId run;
  };

  void OnMove(RunId run);
  void OnProgress(RunId run);
  // Some of the runs that were looked at.
  struct Over {
    v1::WaitResponse message;  // those that are over, as many as fit
    std::vector<RunId> rest;   // those that did not fit
  };

  // Looks at `all` runs even if they do not fit, so that one that does not exist is found.
  static absl::StatusOr<Over> ReadOver(const std::vector<RunId>& runs, bool all,
                                       StoreReader& reader);
  // Reads those runs of `moved_` that the core does not know any more.
  void LookAtMoved();
  // Takes the result into `message`.
  absl::Status TakeOver(v1::WaitResponse* message);
  // Begins to follow the oldest run left.
  void FollowOldest();
  absl::StatusOr<bool> NextOfOldest(v1::WaitResponse* message);

  Engine* const engine_;
  const EventId after_event_;
  std::function<void()> wake_;
  std::map<RunId, Waited> left_;
  std::set<RunId> moved_;  // the runs to look at
  bool all_exist_ = false;
  PendingRead<Over> over_;

  RunId oldest_ = 0;  // among the runs left
  MonoTime oldest_since_;
  std::optional<FollowSource> follow_;  // follows the oldest run
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_WAIT_SOURCE_H_
