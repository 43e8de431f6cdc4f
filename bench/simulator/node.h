// One simulated node. The worker's own core decides, and what it wants to be done is made up: its
// ranks write a line, log a metric, run for a given time and exit with 0. Pure but for its link.
#ifndef HPC_BENCH_SIMULATOR_NODE_H_
#define HPC_BENCH_SIMULATOR_NODE_H_

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "protocol/coordinator_message.h"
#include "worker/core/agent.h"
#include "worker/link/link.h"

namespace hpc::simulator {

struct Traits {
  std::string node;
  uint64_t incarnation = 0;
  std::string address;
  protocol::Inventory inventory;
  absl::Duration run_time;  // how long its ranks run
};

class Node {
 public:
  // Connects at the first Tick. `link` must outlive the node. The owner of both hands what the link
  // says on to the node.
  Node(Now now, Traits traits, worker::Link* link);

  void OnMessage(Now now, const protocol::CoordinatorMessage& message);
  void OnClosed(Now now, const absl::Status& why);
  void Tick(Now now);
  MonoTime NextDeadline() const;

  bool connected() const { return agent_.connection().connected(); }
  const std::map<AttemptRef, worker::Attempt>& attempts() const { return agent_.attempts(); }

 private:
  // Stands in for an attempt's processes and files.
  struct Work {
    int32_t first_rank = 0;
    int32_t ranks = 0;
    MonoTime started{};
    MonoTime ends = MonoTime::Infinite();  // when the ranks end by themselves
    bool began = false;
    bool over = false;
    std::set<int32_t> unacknowledged;  // ranks whose line the coordinator may not have
    MonoTime drop_by = MonoTime::Infinite();
  };

  void Decide(Now now, const std::function<void(worker::Effects*)>& event);
  void Do(Now now, const worker::OpenLink& effect);
  void Do(Now now, const worker::CloseLink& effect);
  void Do(Now now, const worker::Say& effect);
  void Do(Now now, const worker::SayHeartbeat& effect);
  void Do(Now now, const worker::PrepareAttempt& effect);
  void Do(Now now, const worker::StartAttempt& effect);
  void Do(Now now, const worker::StopAttempt& effect);
  void Do(Now now, const worker::DropAttempt& effect);
  void Do(Now now, const worker::Sleep& effect);
  void Do(Now now, const worker::RecallRanks& effect);
  // These have nothing to do here, since nothing outlives this process.
  void Do(Now, const worker::ExtendLeases&) {}
  void Do(Now, const worker::SetFence&) {}
  void Do(Now, const worker::SaveOwner&) {}
  void Do(Now, const worker::Note&) {}

  void End(Now now, AttemptRef ref, Work* work, const protocol::RankExit& exit);
  void SendOutput(AttemptRef ref, const Work& work);
  void OnAck(const protocol::LogAck& ack);
  void DropDone(Now now);
  std::string LineOf(AttemptRef ref, int32_t rank) const;
  std::vector<worker::DeviceUsage> TakeUsage(Now now);

  const Traits traits_;
  worker::Link* const link_;
  std::minstd_rand random_;
  worker::Agent agent_;
  std::map<AttemptRef, Work> work_;
  MonoTime next_usage_{};
  std::deque<worker::Effect> effects_;
  bool deciding_ = false;
};

}  // namespace hpc::simulator

#endif  // HPC_BENCH_SIMULATOR_NODE_H_
