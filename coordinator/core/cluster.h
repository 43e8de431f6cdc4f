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
#include "coordinator/core/effects.h"
#include "coordinator/core/model.h"

namespace hpc::coordinator {

struct ClusterOptions {
  absl::Duration lease = absl::Seconds(6);               // silence after which a node is lost
  absl::Duration reconnect_grace = absl::Seconds(3);     // the same after a connection was reset
  absl::Duration heartbeat_interval = absl::Seconds(2);  // told to nodes
  absl::Duration prepare_timeout = absl::Seconds(20);
  absl::Duration start_timeout = absl::Seconds(20);
  absl::Duration wake_timeout = absl::Minutes(3);
  absl::Duration wake_retry = absl::Minutes(10);  // how long a node that did not wake is left alone
  absl::Duration sleep_timeout = absl::Minutes(1);  // falling asleep is believed after this
  // How long a worker lets ranks run without hearing from the coordinator, and therefore how long
  // devices of a lost node count as taken.
  absl::Duration stop_after_disconnect = absl::Minutes(5);
  absl::Duration restart_backoff = absl::Seconds(1);  // doubles per failure, at most 60 times
  // How long a run that could start waits for more nodes, up to its most.
  absl::Duration last_call = absl::Seconds(2);
  // How long a node must have been there, and a gang must have run, before the gang grows onto it.
  absl::Duration grow_steady = absl::Seconds(30);
  int32_t infrastructure_retries = 10;  // lost nodes and failed starts per run
  int32_t backfill_depth = 1000;        // queued runs looked at behind the first
  int32_t runs_per_user = 20'000;       // that are not over
};

// That what is durable was restored from a backup: what was given out after it is not known.
struct Restored {
  absl::Time at = absl::InfinitePast();  // never
  RunId known_run = 0;                   // the newest run of the backup
  // Attempts of these runs up to this number may have been given out.
  int32_t taken_attempt = 0;
  bool hold_over = false;  // a HoldOver says so
};

// What survives a restart of the coordinator. Finished runs are not in it.
struct Snapshot {
  RunId last_run = 0;  // numbers up to this one are taken
  EventId last_event = 0;
  Restored restored;
  std::vector<RunRecord> runs;              // all that are not terminal
  std::vector<AttemptRecord> attempts;      // of those runs, all that have not ended
  std::vector<PlacementRecord> placements;  // of the newest attempt of each of those runs
  std::vector<RankRecord> ranks;            // of those attempts
  std::vector<NodeRecord> nodes;
};

// How long before a report a rank started and ended, on the node's monotonic clock: their
// difference is how long it ran. Zero for what has not happened.
struct RankAges {
  absl::Duration started;
  absl::Duration ended;
  absl::Duration ended_within;  // it may have ended so much earlier: nobody looked meanwhile
};

// What ended an attempt's ranks on a node, other than our word.
enum class HaltKind {
  kNone = 0,
  kOwner = 1,           // the owner took the PC back; he may have lent it again since
  kCutOff = 2,          // the node had lost contact, or its worker stood still
  kSupervisorLost = 3,  // the supervisor was killed, and its ranks with it
  kLeaving = 4,         // the PC or its worker was going down
  kDamaged = 5,         // what the worker has of the attempt contradicts itself
};

struct Halt {
  HaltKind kind = HaltKind::kNone;
  std::string reason;     // in words
  absl::Duration ago;     // before it was told
  absl::Duration within;  // it may have been so much earlier
};

// What a node's clock showed, since an unknown moment.
struct NodeTimes {
  absl::Duration said;  // when it said what is read now
  // Of a heartbeat only: the newest earlier one that it knows to be heard, and when it learned
  // that. Zero: none.
  bool heartbeat = false;
  absl::Duration heard_beat;
  absl::Duration heard_at;
};

// What a worker says of an attempt that it still has when it connects.
struct HeldAttempt {
  AttemptRef ref;
  bool started = false;
  bool returned = false;  // all over there; only its files are left
  struct Rank {
    int32_t rank = 0;
    int64_t pid = 0;
    std::optional<RankExit> exit;
    RankAges ago;
  };
  std::vector<Rank> ranks;
  Halt halt;                // kNone: the node did not end it by itself
  bool store_lost = false;  // it served the rendezvous store, which died with an earlier worker
  bool witnessed = false;   // as it was started
};

struct NodeHello {
  std::string node;
  uint64_t incarnation = 0;  // random, new with each start of the worker
  std::string boot_id;
  bool resumed = false;  // woke from suspend since it was last connected
  std::string address;
  bool can_vouch = false;  // it knows how to vouch for attempts
  Inventory inventory;
  bool reclaimed = false;      // its owner's wish as the worker knows it; newer than ours if set
  bool owner_changed = false;  //   locally while disconnected
  std::optional<absl::Duration> reclaim_time_left;
  std::string reclaim_reason;
  std::optional<absl::Duration> said;  // as in NodeTimes; unset: it does not tell
  std::vector<HeldAttempt> attempts;
};

// The answer to a hello that was accepted.
struct Welcome {
  absl::Duration lease;
  absl::Duration heartbeat_interval;
  absl::Duration stop_after_disconnect;
  // How long ranks of a witnessed attempt may live after the coordinator last heard their node, and
  // after the nodes of the attempt last vouched for one another.
  absl::Duration contact_limit, vouch_limit;
};

// What a node that says good-bye leaves behind.
enum class Leave {
  kPcGoes = 1,       // the PC sleeps or is off
  kWorkerStops = 2,  // only the worker ends
};

struct ReclaimRequest {
  std::optional<absl::Duration> duration;  // unset: until lent
  std::string reason;
  std::string who;
  absl::Duration grace = absl::Seconds(10);
};

struct PreparedReport {
  AttemptRef ref;
  // Not OK: this node cannot run it; the message names what was asked and found.
  // NotFound, PermissionDenied, FailedPrecondition: restarting cannot help (a refusal).
  // Unavailable: another node may do (devices busy with something else, disk full).
  absl::Status status;
  std::string store_addr;  // set by the node that hosts the store
  int32_t store_port = 0;
  bool store_client_ok = true;  // false: its torch cannot be a client of the worker's store
  RecallAccess recall = {};
};

struct RendezvousReport {
  AttemptRef ref;
  struct Arrival {
    std::string address;  // peer's IP literal as the store saw it
    int64_t pid = 0;      // of the PING
  };
  std::vector<Arrival> arrivals;  // all so far
  std::string blocked_key;        // a key that clients wait for; "" when none
  int32_t waiting = 0;            // connections that wait for it
};

// What a process does, in words, as its node last said. Rank -1: one that survives SIGKILL, and
// keeps its device.
struct RankDoing {
  AttemptRef ref;
  int32_t rank = 0;
  std::string text;
};

// What is being waited for, for `why`, progress lines and listings.
struct RunWait {
  std::string text;            // "needs 4 nodes, 2 are free: pc3 is used by run 7, pc4 is asleep"
  int32_t queue_position = 0;  // 1 is next; 0: does not queue (it waits for a run, or runs)
};

class Cluster {
 public:
  // `past_run` answers how a run ended that the core has forgotten, for --after; nothing if there
  // never was one. It must be callable at any time.
  using PastRunLookup = std::optional<RunState> (*)(void* context, RunId run);
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
  struct StartedRank {
    int32_t rank = 0;
    int64_t pid = 0;
    absl::Duration started_ago;
  };
  absl::Status Started(Now now, const std::string& node, uint64_t incarnation, AttemptRef ref,
                       const std::vector<StartedRank>& ranks, Effects* effects);
  absl::Status RankEnded(Now now, const std::string& node, uint64_t incarnation, AttemptRef ref,
                         int32_t rank, const RankExit& exit, RankAges ago, Effects* effects);
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
