// The coordinator's core: every rule about runs, attempts and nodes, without I/O.
//
// Each method takes the time, changes the state, and appends to `effects` what must be made durable
// and then sent. A command that is refused changes nothing. The shell calls Tick after every batch
// of calls: that is when runs are placed and timeouts are acted on. It also calls Tick whenever
// NextDeadline is reached.
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
#include "coordinator/core/values/node_clock.h"
#include "coordinator/core/values/records.h"
#include "coordinator/core/values/reports.h"
#include "protocol/hello.h"
#include "protocol/node_report.h"

namespace hpc::coordinator {

class Cluster {
 public:
  Cluster(const ClusterOptions& options, const Snapshot& snapshot, Now now, PastRunLookup past_run,
          void* past_run_context);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // ---- clients

  // Queues a run and returns its id.
  // - InvalidArgument: the request contradicts itself (-N 3:2), or it comes after an unknown run.
  // - NotFound: a named node does not exist (the error names the nearest).
  // - FailedPrecondition: it wants more nodes or GPUs than the cluster has, busy and off ones
  //   included (the error says what exists), or it comes after a run that is over and did not
  //   succeed.
  // - ResourceExhausted: the user has ClusterOptions::runs_per_user runs that are not over.
  absl::StatusOr<RunId> Submit(Now now, const RunRequest& request, Effects* effects);

  // Asks a run to end. That is OK if it has already been asked. NotFound: no run that is not over
  // has this id.
  absl::Status Cancel(Now now, RunId run, const Cancellation& cancellation, Effects* effects);

  // Changes what a queued run asks for, or holds or releases it. NotFound as for Cancel.
  // FailedPrecondition: an attempt of it is under way. Other errors are those of Submit, for the
  // request that it would make. Returns ChangeWords().
  absl::StatusOr<std::string> ChangeRun(Now now, RunId run, const RunChange& change,
                                        Effects* effects);

  // Takes the node for its owner. Asking again for the same changes only the time limit and the
  // reason; a new grace only shortens the time of what still runs there. NotFound: no such node
  // (the error names the nearest).
  absl::Status Reclaim(Now now, const std::string& node, const ReclaimRequest& request,
                       Effects* effects);
  absl::Status Lend(Now now, const std::string& node, const std::string& who, Effects* effects);
  // Puts the node to sleep. Returns the queued run that, as things stand, will wake it as soon as
  // it is off; 0: none. FailedPrecondition: the node is neither on nor falling asleep, or its owner
  // has taken it back.
  absl::StatusOr<SleepAnswer> Sleep(Now now, const std::string& node, const std::string& who,
                                    Effects* effects);
  // Wakes the node. FailedPrecondition: it is on, its worker was stopped, it is shut out, or there
  // is no known way to wake it (no MAC, no hook).
  absl::Status Wake(Now now, const std::string& node, const std::string& who, Effects* effects);
  // The node is not a node any more, until it says hello again. FailedPrecondition: it is
  // connected, or an attempt that is not over has a share there; the error says what to do.
  absl::Status Forget(Now now, const std::string& node, const std::string& who, Effects* effects);
  // The node's last certificate is void; `why` is for example "revoked by anna". The node no longer
  // counts among the nodes that exist, until it says hello again. If there is no such node, nothing
  // happens.
  void ShutOut(Now now, const std::string& node, const std::string& why, Effects* effects);

  // Writes an event of a kind "security. ..." or "cluster. ..." (event_kinds.h). The core keeps
  // nothing else about it.
  void Note(Now now, const char* kind, const std::string& text, Severity severity,
            Effects* effects);

  // ---- nodes

  // AlreadyExists: another worker of this name is connected and alive (the error names its
  // address).
  absl::StatusOr<protocol::Welcome> Hello(Now now, const protocol::Hello& hello, Effects* effects);
  // Takes what a connected node says. FailedPrecondition: that is not the connected session ("wrong
  // incarnation: said 5, connected is 7"), and the caller closes that stream. A report about an
  // attempt that is not its run's live one, or that the node has no part in, changes nothing: it is
  // counted, and the node is told to forget that attempt.
  absl::Status Apply(Now now, const Session& session, const protocol::NodeReport& report,
                     Effects* effects);
  // The node said something that is not for the core. FailedPrecondition as above.
  absl::Status Heard(Now now, const Session& session);
  // What the node's clock showed when it said the report that is given next. For a report without
  // this, ages are counted as if the report had not been under way for long.
  void NoteTimes(Now now, const Session& session, const NodeTimes& times);
  // The connection is gone. `reset`: the peer closed it or refuses a new one, which proves that the
  // process is gone. Otherwise only the lease decides.
  void Disconnected(Now now, const Session& session, bool reset, Effects* effects);

  // Writes an event of this kind about what a rank says or logs: something that its user should
  // know. The attempt may be over. The caller must know that the rank belongs to that node.
  void Remark(Now now, const char* kind, const std::string& node, AttemptRef ref, int32_t rank,
              const std::string& remark, Effects* effects);

  // ---- time

  // Acts on every deadline that has passed and places queued runs.
  void Tick(Now now, Effects* effects);
  // When Tick must be called next; Infinite if nothing is waiting for time.
  MonoTime NextDeadline() const;
  // Makes durable when the connected nodes were last heard. After a restart this is what is known
  // of them until they are back.
  void SaveSeen(Now now, Effects* effects);

  // ---- reading (soft state; the rest is in the store)

  const ClusterOptions& options() const;
  std::optional<RunRecord> FindRun(RunId run) const;  // only runs that are not over
  // The newest run that is not over and whose number is below `before`; null: there is none. Valid
  // until the next call that changes anything.
  const RunRecord* NewestRunBelow(RunId before) const;
  RunWait Waiting(Now now, RunId run) const;
  absl::Status CheckNode(const std::string& node) const;  // NotFound names the nearest
  std::vector<std::string> NodeNames() const;
  struct NodeView {
    NodeRecord record;
    Link link = Link::kNever;
    std::string state;   // one word for tables: "idle", "busy", "reclaimed", ...
    std::string reason;  // explains the state in words that are true now; "" if it needs no words
    std::vector<AttemptRef> attempts;   // those that hold devices there
    std::vector<int32_t> free_devices;  // a run can get these, perhaps only by waking the node
  };
  std::vector<NodeView> Nodes(Now now) const;  // by name
  struct Totals {
    int32_t nodes = 0, nodes_connected = 0, devices = 0, devices_free = 0;
    int32_t queued = 0, running = 0;
    int64_t stale_refused = 0;  // reports of replaced attempts since the start
  };
  Totals GetTotals() const;
  // In words, as far as it is known, which ranks of a running attempt have reached the rendezvous
  // and whom they wait for; "" when there is nothing to say.
  std::string RendezvousState(Now now, RunId run) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_CLUSTER_H_
