// What the core wants done, in this order: first make `changes` durable, then send `messages`. No
// client or node may learn anything of it before the changes are on disk.
#ifndef HPC_COORDINATOR_CORE_VALUES_EFFECTS_H_
#define HPC_COORDINATOR_CORE_VALUES_EFFECTS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

// Whatever ran without the knowledge of the backup that was restored at that time has ended.
struct HoldOver {
  absl::Time restored_at;
};

// Each change is a whole record that is inserted or replaced, except that events are only inserted.
using Change = std::variant<RunRecord, AttemptRecord, PlacementRecord, RankRecord, NodeRecord,
                            EventRecord, HoldOver>;

// A peer of an attempt. Every node of the attempt is told of it.
struct Peer {
  std::string node;
  std::string address;
  int32_t first_rank = 0;
  int32_t ranks = 0;
};

// Check everything, take devices and start a supervisor; bind the store's port if `hosts_store`.
// The node answers with Cluster::Prepared. The shell adds the run's RunProgram.
struct PrepareAttempt {
  AttemptRef ref;
  int32_t node_rank = 0;
  std::vector<int32_t> devices;
  int32_t first_rank = 0;
  int32_t ranks = 0;
  int32_t world_size = 0;
  std::vector<Peer> peers;  // all nodes of the attempt by node rank, itself included
  LaunchMode mode = LaunchMode::kTorchrun;
  StoreHost store_host = StoreHost::kAuto;
  int32_t restart_count = 0;  // attempts of this run before this one
  int32_t max_restarts = 0;
  absl::Duration stop_grace;
};

// Start the ranks. The node answers with Cluster::Started.
struct StartAttempt {
  AttemptRef ref;
  std::string master_addr;
  int32_t master_port = 0;
  StoreHost store_host = StoreHost::kWorker;
  bool witnessed = false;  // its nodes are to vouch for one another
};

// Do not vouch for the attempt for this long. The node answers with Cluster::Doubted and the same
// `asked`.
struct DoubtAttempt {
  AttemptRef ref;
  absl::Duration span;
  MonoTime asked;
};

// How another node of the gang can end the ranks of a node whose worker is gone.
struct RecallAccess {
  int32_t port = 0;  // 0: it cannot
  std::string key, proof;
};

// The worker of `node` is gone: ask the supervisor there to end the attempt's ranks. The answer is
// Cluster::Recalled.
struct RecallRanks {
  AttemptRef ref;
  std::string node;
  std::string address;
  RecallAccess access;
  absl::Duration grace;
};

// Send SIGTERM to every rank now, and SIGKILL to all that is left after `grace`. This also rolls
// back a preparation. The node answers with Cluster::AttemptReturned once no process is left.
struct StopAttempt {
  AttemptRef ref;
  absl::Duration grace;
  std::string reason;
};

// The attempt is over and recorded: once its logs and metrics are acknowledged, delete its files.
struct ForgetAttempt {
  AttemptRef ref;
};

// The owner takes the PC, or gives it back. The worker remembers this while the coordinator is
// away.
struct SetOwner {
  bool reclaimed = false;
  std::optional<absl::Duration> time_left;  // unset: until lent
  std::string reason;
};

// Run the node's power command. Sent only when no attempt is left there.
struct GoToSleep {
  std::string reason;
};

using NodeCommand = std::variant<PrepareAttempt, StartAttempt, DoubtAttempt, RecallRanks,
                                 StopAttempt, ForgetAttempt, SetOwner, GoToSleep>;

struct NodeMessage {
  std::string node;
  NodeCommand command;
};

// Send Wake-on-LAN packets for this node (or run its wake hook), once; the core repeats as it sees
// fit.
struct WakeNode {
  std::string node;
  std::vector<NetworkInterface> interfaces;
  int32_t packet = 0;  // 0, 1, 2 ... of this wake-up
};

struct Effects {
  std::vector<Change> changes;
  std::vector<NodeMessage> messages;
  std::vector<WakeNode> wakes;

  bool empty() const { return changes.empty() && messages.empty() && wakes.empty(); }
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_EFFECTS_H_
