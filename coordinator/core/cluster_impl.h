// The parts of the core, put together. Only cluster*.cc include this.
#ifndef HPC_COORDINATOR_CORE_CLUSTER_IMPL_H_
#define HPC_COORDINATOR_CORE_CLUSTER_IMPL_H_

#include <optional>

#include "coordinator/core/acts/giver.h"
#include "coordinator/core/acts/grower.h"
#include "coordinator/core/acts/liveness.h"
#include "coordinator/core/acts/owners.h"
#include "coordinator/core/acts/power.h"
#include "coordinator/core/acts/removal.h"
#include "coordinator/core/acts/scheduler.h"
#include "coordinator/core/cluster.h"
#include "coordinator/core/gangs/gang_starter.h"
#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/gangs/run_ledger.h"
#include "coordinator/core/state/live_attempt.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

class Cluster::Impl {
 public:
  Impl(const ClusterOptions& options, const Snapshot& snapshot, Now now, PastRunLookup past_run,
       void* past_run_context);

  // Every call that changes something begins with this.
  Turn Begin(Now now, Effects* effects);
  void Tick(Turn& turn, Now now);

  // NotFound names the nearest node.
  absl::StatusOr<Node*> FindNode(const std::string& name);
  // NotFound: no run that is not over has this number.
  absl::StatusOr<Run*> FindRun(RunId id);

  // What a node reports, by its kind.
  void Take(Turn& turn, Node* node, const protocol::Heartbeat& beat);
  void Take(Turn& turn, Node* node, const protocol::Inventory& inventory);
  void Take(Turn& turn, Node* node, const protocol::OwnerChanged& changed);
  void Take(Turn& turn, Node* node, const protocol::Leaving& leaving);
  void Take(Turn& turn, Node* node, const protocol::HandingOver&);
  void Take(Turn& turn, Node* node, const protocol::SleepFailed& failed);
  void Take(Turn& turn, Node* node, const protocol::Prepared& report);
  void Take(Turn& turn, Node* node, const protocol::Started& report);
  void Take(Turn& turn, Node* node, const protocol::RankEnded& report);
  void Take(Turn& turn, Node* node, const protocol::AttemptHalted& report);
  void Take(Turn& turn, Node* node, const protocol::AttemptReturned& report);
  void Take(Turn& turn, Node* node, const protocol::Doubted& report);
  void Take(Turn& turn, Node* node, const protocol::Recalled& report);
  void Take(Turn& turn, Node* node, const protocol::RendezvousReport& report);
  void Take(Turn& turn, Node* node, const protocol::CheckpointSaved& saved);

  EventCounter events;
  // The state is mutable because readers explain what a run waits for by asking the parts that
  // decide.
  mutable State state;
  RunLedger ledger;
  Gangs gangs;
  GangStarter starter;
  PowerControl power;
  Owners owners;
  Liveness liveness;
  Removal removal;
  Scheduler scheduler;
  Giver giver;
  Grower grower;

  // A restarted coordinator resumes with the first call that may have effects.
  bool resumed = false;
  MonoTime loaded_at;

 private:
  // What a report about an attempt that is not live means.
  enum class Stale { kIsCounted, kIsHarmless };
  // The live attempt that a node reports about. If there is none, the node is told to forget it.
  std::optional<LiveAttempt> Reported(Turn& turn, Node* node, AttemptRef ref,
                                      Stale stale = Stale::kIsCounted);
  void Resume(Turn& turn);
  void Ring(Turn& turn, TimerKey key);
  void HandOnReturnedDevices(Turn& turn);
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_CLUSTER_IMPL_H_
