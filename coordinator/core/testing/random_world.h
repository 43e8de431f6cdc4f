// A small world of workers around a real Cluster, driven by a seed. Messages wait, connections
// break, PCs reboot, sleep and are reclaimed, and the coordinator forgets all that was not durable.
#ifndef HPC_COORDINATOR_CORE_TESTING_RANDOM_WORLD_H_
#define HPC_COORDINATOR_CORE_TESTING_RANDOM_WORLD_H_

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/clock.h"
#include "coordinator/core/cluster.h"
#include "coordinator/core/values/cluster_options.h"
#include "protocol/coordinator_message.h"

namespace hpc::coordinator::testing {

class RandomWorld {
 public:
  RandomWorld(uint32_t seed, int nodes);

  // Lets something happen: a message arrives, a PC reboots, a user submits ...
  void Step();
  // From now on every PC is there and lent. Lets enough time pass for all runs to end.
  void Heal();

  // A violated invariant, in words; "" while all is well.
  const std::string& violation() const { return violation_; }
  // What has happened so far, to explain a seed that fails.
  std::string Trace() const;

 private:
  // What a worker has of an attempt.
  struct Held {
    protocol::Prepare prepare;
    bool started = false;
    bool stopping = false;
    bool returned = false;
    std::map<int32_t, protocol::RankExit> exits;
  };
  struct Pc {
    std::string name;
    bool connected = false;
    uint64_t incarnation = 0;
    int boots = 1;
    bool resumed = false;
    bool asleep = false;
    MonoTime heard{};  // when it last heard the coordinator
    std::map<AttemptRef, Held> held;
    std::deque<protocol::CoordinatorMessage> inbox;
  };

  int Pick(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  void Note(const std::string& what);
  void Settle();
  void NewCluster();
  void Pass(absl::Duration d);

  void Submit();
  void Command();
  void ChangeRun(RunId run);
  void Connect(Pc* pc);
  void Say(const Pc& pc, const protocol::NodeReport& report);
  void Break(Pc* pc, bool reset);
  void Reboot(Pc* pc);
  void Suspend(Pc* pc);
  void StopIfCutOff(Pc* pc);
  void WakeUp(Pc* pc);
  void Deliver(Pc* pc);
  void Obey(Pc* pc, const protocol::Prepare& prepare);
  void Obey(Pc* pc, const protocol::Start& start);
  void Obey(Pc* pc, const protocol::Stop& stop);
  void Progress(Pc* pc);
  void EndRank(Pc* pc, Held* held, int32_t rank, const protocol::RankExit& exit);
  void EndAll(Pc* pc, Held* held);
  void Return(Pc* pc, Held* held);
  void Check();

  std::mt19937 random_;
  FakeClock clock_;
  ClusterOptions options_;
  std::unique_ptr<Cluster> cluster_;
  Effects effects_;
  std::vector<Pc> pcs_;
  bool healing_ = false;
  std::string violation_;
  std::vector<std::string> trace_;

  // The durable state.
  RunId last_run_ = 0;
  EventId last_event_ = 0;
  std::map<RunId, RunRecord> runs_;
  std::map<AttemptRef, AttemptRecord> attempts_;
  std::map<std::pair<AttemptRef, std::string>, PlacementRecord> placements_;
  std::map<std::pair<AttemptRef, int32_t>, RankRecord> ranks_;
  std::map<std::string, NodeRecord> nodes_;
};

}  // namespace hpc::coordinator::testing

#endif  // HPC_COORDINATOR_CORE_TESTING_RANDOM_WORLD_H_
