// Follows one run: its state with each event, what it waits for, and its output.
#ifndef HPC_COORDINATOR_RPC_ANSWERS_FOLLOW_SOURCE_H_
#define HPC_COORDINATOR_RPC_ANSWERS_FOLLOW_SOURCE_H_

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/rpc/answers/pending_read.h"
#include "coordinator/rpc/answers/reply.h"
#include "coordinator/runtime/engine.h"
#include "hpc/v1/runs.pb.h"

namespace hpc::coordinator {

class FollowSource final : public Source<v1::FollowResponse>, public Watcher {
 public:
  FollowSource(Engine* engine, const v1::FollowRequest& request);
  ~FollowSource() override { engine_->Unwatch(this); }

  void OnOpen(std::function<void()> wake) override;
  absl::StatusOr<Step> Next(v1::FollowResponse* message) override;
  void Poke() override;
  void PokeProgress() override;

 private:
  // What is read of the store at once.
  struct News {
    std::vector<EventRecord> events;
    v1::Run state;
  };

  void ReadNews();
  absl::Status TakeNews();
  // Each of these fills in `message` if it has something to say.
  bool NextState(v1::FollowResponse* message);
  bool NextProgress(v1::FollowResponse* message);
  absl::StatusOr<bool> NextOutput(v1::FollowResponse* message);
  void FillState(v1::FollowResponse* message) const;

  Engine* const engine_;
  const RunId run_;
  const bool with_output_;
  std::function<void()> wake_;

  EventId event_;     // the last event told
  int64_t position_;  // where in the log reading goes on
  v1::Run state_;     // as last read
  std::string progress_;
  bool told_ = false;  // the state has been told at least once

  PendingRead<News> news_;
  std::deque<EventRecord> events_;  // read, not told yet
  std::deque<LogRecord> output_;
  // There may be something new to read.
  bool look_for_events_ = true;
  bool look_for_progress_ = true;
  bool look_for_output_ = true;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_RPC_ANSWERS_FOLLOW_SOURCE_H_
