// The coordinator's core: every rule about runs, attempts and nodes, without I/O.
//
// Each method takes the time, changes the state and appends to `effects` what must be made durable
// and then sent. A command that is refused changes nothing. The shell calls Tick after every batch
// of calls (that is when runs are placed and timeouts acted on) and again when NextDeadline is
// reached.
#ifndef HPC_COORDINATOR_CORE_CLUSTER_H_
#define HPC_COORDINATOR_CORE_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "coordinator/core/values/cluster_options.h"
#include "coordinator/core/values/effects.h"
#include "coordinator/core/values/model.h"
#include "coordinator/core/values/node_clock.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

class Cluster {
 public:
  Cluster(const ClusterOptions& options, const Snapshot& snapshot, Now now, PastRunLookup past_run,
          void* past_run_context);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // ---- clients

  // Queues a run and returns its id. InvalidArgument: contradictory request (-N 3:2), or after an
  // unknown run. NotFound: a named node does not exist (names the nearest). FailedPrecondition:
  // more nodes or GPUs than the cluster has, busy and off ones included (says what exists), or
  // after a run that is over and did not succeed. ResourceExhausted: the user has
  // ClusterOptions::runs_per_user runs that are not over.
  absl::StatusOr<RunId> Submit(Now now, const RunRequest& request, Effects* effects);

  // Asks a run to end. OK too if it already has been asked. NotFound: no such run that is not over.
  absl::Status Cancel(Now now, RunId run, const std::string& who, Effects* effects);

  // NotFound: no such node (names the nearest). Idempotent: asking again for the same changes only
  // the time limit and the reason.
  absl::Status Reclaim(Now now, const std::string& node, const ReclaimRequest& request,
                       Effects* effects);
  absl::Status Lend(Now now, const std::string& node, const std::string& who, Effects* effects);
  // Returns the queued run that will wake it again as soon as it is off; 0: none as things stand.
  // FailedPrecondition: the node is neither on nor falling asleep, or its owner has taken it back.
  absl::StatusOr<RunId> Sleep(Now now, const std::string& node, const std::string& who,
                              Effects* effects);
  // FailedPrecondition: it is on, its worker was stopped, it is shut out, or nothing is known to
  // wake it with (no MAC, no hook).
  absl::Status Wake(Now now, const std::string& node, const std::string& who, Effects* effects);
  // It is no node any more, until it says hello again. FailedPrecondition, with what to do: it is
  // connected, or an attempt that is not over has a share there.
  absl::Status Forget(Now now, const std::string& node, const std::string& who, Effects* effects);
  // Its last certificate is void, `why` ("revoked by anna"): it no longer counts among the nodes
  // that exist, until it says hello again. Nothing happens where there is no such node.
  void ShutOut(Now now, const std::string& node, const std::string& why, Effects* effects);

  // Writes an event of a kind "security. ..." or "cluster. ..." (event_kinds.h), about which the
  // core knows no more.
  void Note(Now now, const char* kind, const std::string& text, Severity severity,
            Effects* effects);

  // ---- nodes. Everything but a hello names the incarnation; FailedPrecondition if it is not the
  // connected one ("wrong incarnation: said 5, connected is 7"): the caller closes that stream.

  // AlreadyExists: another worker of this name is connected and alive (its address is named).
  absl::StatusOr<Welcome> Hello(Now now, const NodeHello& hello, Effects* effects);
  absl::Status Heartbeat(Now now, const std::string& node, uint64_t incarnation);
  // What its clock showed when it said the report that is given next. Of a report without it the
  // ages are taken as if nothing had been under way for long.
  void NoteTimes(Now now, const std::string& node, uint64_t incarnation, const NodeTimes& times);
  // The connection is gone. `reset`: the peer closed it or refuses a new one, which is proof that
  // the process is gone; else only the lease decides.
  void Disconnected(Now now, const std::string& node, uint64_t incarnation, bool reset,
                    Effects* effects);
  // The node says it goes: expected, not a failure.
  absl::Status Leaving(Now now, const std::string& node, uint64_t incarnation, Leave leave,
                       const std::string& reason, Effects* effects);
  // The node was told to sleep, and could not.
  // Its worker ends and leaves its ranks to the next one, which may take the reconnect grace.
  absl::Status HandingOver(Now now, const std::string& node, uint64_t incarnation);
  absl::Status SleepFailed(Now now, const std::string& node, uint64_t incarnation,
                           const std::string& error, Effects* effects);
  absl::Status InventoryChanged(Now now, const std::string& node, uint64_t incarnation,
                                const Inventory& inventory, Effects* effects);
  // The owner used `hpc-worker reclaim|lend` on the PC itself.
  absl::Status OwnerChanged(Now now, const std::string& node, uint64_t incarnation, bool reclaimed,
                            const ReclaimRequest& request, Effects* effects);

  // Reports about attempts. One whose number is not the run's live attempt, or of a node that is
  // not part of it, is refused (FailedPrecondition) and counted; the caller answers with
  // ForgetAttempt.
  absl::Status Prepared(Now now, const std::string& node, uint64_t incarnation,
                        const PreparedReport& report, Effects* effects);
  absl::Status Started(Now now, const std::string& node, uint64_t incarnation, AttemptRef ref,
                       const std::vector<StartedRank>& ranks, Effects* effects);
  absl::Status RankEnded(Now now, const std::string& node, uint64_t incarnation, AttemptRef ref,
                         int32_t rank, const RankExit& exit, RankAges ago, Effects* effects);
  // The node ends the attempt's ranks by itself. AttemptReturned follows, and says it again.
  absl::Status AttemptHalted(Now now, const std::string& node, uint64_t incarnation, AttemptRef ref,
                             const Halt& halt, Effects* effects);
  // No process of the attempt is left on the node; its devices are free. `halt`: what ended it
  // there.
  absl::Status AttemptReturned(Now now, const std::string& node, uint64_t incarnation,
                               AttemptRef ref, const Halt& halt, Effects* effects);
  // The node does not vouch for the attempt, as it was asked to at `asked`.
  absl::Status Doubted(Now now, const std::string& node, uint64_t incarnation, AttemptRef ref,
                       MonoTime asked, Effects* effects);
  // What `node` found when it was told to recall the ranks of `lost`. `status`: OK, none is left.
  absl::Status Recalled(Now now, const std::string& node, uint64_t incarnation, AttemptRef ref,
                        const std::string& lost, const absl::Status& status, Effects* effects);
  absl::Status Rendezvous(Now now, const std::string& node, uint64_t incarnation,
                          const RendezvousReport& report, Effects* effects);
  // Soft, with heartbeats: replaces what was known of the node's ranks.
  void RanksDo(const std::string& node, const std::vector<RankDoing>& doing);
  // Something that its user should know of what a rank logs, as an event. The attempt may be over;
  // that the rank was that node's is the caller's to know.
  void RankMetrics(Now now, const std::string& node, AttemptRef ref, int32_t rank,
                   const std::string& remark, Effects* effects);
  // A rank says that a checkpoint is whole: what a restart now would lose is nothing. Without a
  // meaning if the attempt does not run any more.
  void CheckpointSaved(Now now, AttemptRef ref, Effects* effects);

  // ---- time

  // Acts on every deadline that has passed and places queued runs.
  void Tick(Now now, Effects* effects);
  // When Tick must be called next; Infinite if nothing waits for time.
  MonoTime NextDeadline() const;
  // Makes durable when the connected nodes were heard last, for whoever asks before they are back.
  void SaveSeen(Now now, Effects* effects);

  // ---- reading (soft state; the rest is in the store)

  std::optional<RunRecord> FindRun(RunId run) const;  // not terminal ones only
  // The newest of the runs that are not over and below `before`; null: there is none. Valid until
  // the next call that changes anything.
  const RunRecord* NewestRunBelow(RunId before) const;
  RunWait Waiting(Now now, RunId run) const;
  absl::Status CheckNode(const std::string& node) const;  // NotFound: no such one; the nearest
  std::vector<std::string> NodeNames() const;
  struct NodeView {
    NodeRecord record;
    Link link = Link::kNever;
    std::string state;   // one word for tables: "idle", "busy", "reclaimed", ...
    std::string reason;  // for the state, in words that are true now; "" where it needs none
    std::vector<AttemptRef> attempts;   // that hold devices there
    std::vector<int32_t> free_devices;  // that a run can get, if only by waking the node
  };
  std::vector<NodeView> Nodes(Now now) const;  // by name
  struct Totals {
    int32_t nodes = 0, nodes_connected = 0, devices = 0, devices_free = 0;
    int32_t queued = 0, running = 0;
    int64_t stale_refused = 0;  // reports of replaced attempts, since the start
  };
  Totals GetTotals() const;
  // Which ranks of a running attempt have reached the rendezvous and whom they wait for, as far as
  // it is known, in words; "" when there is nothing to know.
  std::string RendezvousState(Now now, RunId run) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_CLUSTER_H_
