// Waits for many runs: tells each as it ends, and what the oldest one left does if that lasts.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_WAIT_SOURCE_H_
#define HPC_COORDINATOR_RPC_ANSWERS_WAIT_SOURCE_H_

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "absl/status/statusor.h"
#include "coordinator/rpc/answers/follow_source.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/runtime/engine.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

class WaitSource final : public Source<v1::WaitResponse> {
 public:
  // All of the runs exist.
  WaitSource(Engine* engine, const v1::WaitRequest& request);
  ~WaitSource() override;

  void OnOpen(std::function<void()> wake) override;
  absl::StatusOr<Step> Next(v1::WaitResponse* message) override;

 private:
  // One run's word to us: a watcher is of one run only.
  struct Waited final : Watcher {
    Waited(WaitSource* s, RunId r) : source(s), run(r) {}
    void Poke() override { source->OnMove(run); }
    void PokeProgress() override { source->OnProgress(run); }

    WaitSource* const source;
    const RunId run;
  };

  void OnMove(RunId run);
  void OnProgress(RunId run);
  // Adds those of `moved_` that are over, as many as fit.
  absl::Status TakeOver(v1::WaitResponse* message);
  absl::Status TakeOver(RunId run, v1::WaitResponse* message);
  // Begins to tell of the oldest.
  void FollowOldest();
  absl::StatusOr<bool> NextOfOldest(v1::WaitResponse* message);

  Engine* const engine_;
  const EventId after_event_;
  std::function<void()> wake_;
  std::map<RunId, Waited> left_;
  std::set<RunId> moved_;  // to be looked at

  RunId oldest_ = 0;  // of those left
  MonoTime oldest_since_;
  std::optional<FollowSource> follow_;  // of the oldest
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_WAIT_SOURCE_H_
