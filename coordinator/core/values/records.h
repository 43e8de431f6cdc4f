// What the coordinator knows, as plain values: its core decides on these records and its store
// keeps them. They have no behaviour; docs/DESIGN.md draws the state machines.
#ifndef HPC_COORDINATOR_CORE_VALUES_RECORDS_H_
#define HPC_COORDINATOR_CORE_VALUES_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "protocol/inventory.h"
#include "protocol/launch.h"
#include "protocol/rank_exit.h"

namespace hpc::coordinator {

// ---------------------------------------------------------------------------------------- runs

enum class RunState {
  kQueued = 1,    // waits for its turn, for another run, or for devices
  kStarting = 2,  // an attempt is being prepared or started on its nodes
  kRunning = 3,   // every rank of the attempt has been started
  kStopping = 4,  // ranks are being ended; what comes after may not be decided yet
  kSucceeded = 5,
  kFailed = 6,
  kCancelled = 7,
  kTimedOut = 8,
};
bool IsTerminal(RunState state);
const char* Name(RunState state);  // "queued", "starting", ...

// When a run that has fewer nodes than its maximum is started again on more nodes.
enum class GrowMode {
  kNever = 1,       // only when it is started again for another reason
  kCheckpoint = 2,  // when a rank says that a checkpoint is whole
  kNow = 3,         // as soon as the nodes are steady
};

// The part of a submission that the core decides on. What to execute (command, environment,
// directory, parameters) is a RunProgram, which the core never needs.
struct RunRequest {
  std::string name;
  std::string experiment;  // "" is the experiment "default"
  std::string user;        // who submitted it; "" if that is not known

  int32_t min_nodes = 1;
  int32_t max_nodes = 1;
  GrowMode grow = GrowMode::kCheckpoint;
  int32_t ranks_per_node = 0;            // 0: one for each device that it uses on the node
  std::optional<int32_t> gpus_per_node;  // unset: every GPU of a node; one CPU slot where none
  std::vector<std::string> node_list;    // empty: any; else only these
  std::vector<std::string> exclude;

  int32_t priority = 0;                                  // larger first
  RunId after = 0;                                       // start only after this run's success
  bool hold = false;                                     // it is held from the beginning
  absl::Duration time_limit = absl::InfiniteDuration();  // of one attempt, once all ranks run
  int32_t max_restarts = 0;                              // budget for the program's own failures
  std::vector<int32_t> retry_exits;  // codes that ask for a restart, which costs nothing

  protocol::LaunchMode mode = protocol::LaunchMode::kTorchrun;
  protocol::StoreHost store_host = protocol::StoreHost::kAuto;
  absl::Duration stop_grace = absl::Seconds(30);  // from the stop signal to SIGKILL

  bool operator==(const RunRequest&) const = default;
};

struct CodeState {
  std::string repository;  // top folder on the submitting machine; "" when not in a git repository
  std::string commit;
  std::string branch;
  bool dirty = false;
  std::string diff;  // uncommitted changes, cut at a stated size
  bool diff_cut = false;

  bool operator==(const CodeState&) const = default;
};

// What to execute, and what to remember about it. Text is valid UTF-8 without NUL.
struct RunProgram {
  std::vector<std::string> command;
  std::string workdir;                                   // absolute
  std::vector<std::pair<std::string, std::string>> env;  // set by the user; overrides ours
  std::vector<std::string> unstored_env;  // names in env whose values we never write to disk
  protocol::LegacyLocalRank legacy_local_rank = protocol::LegacyLocalRank::kNone;
  protocol::StopSignal stop_signal = protocol::StopSignal::kAuto;
  int32_t umask = 022;  // of the ranks
  protocol::WarmStart warm = protocol::WarmStart::kAuto;
  std::vector<std::pair<std::string, std::string>> params;
  std::vector<std::string> tags;
  CodeState code;
  std::string submit_host;
  std::string request_id;  // chosen by the client; the same id means the same run

  bool operator==(const RunProgram&) const = default;
};

struct RunRecord {
  RunId id = 0;
  RunRequest request;
  RunState state = RunState::kQueued;
  std::string reason;     // in words: why it is in this state
  int32_t attempts = 0;   // number of the newest attempt; 0 before the first
  int32_t failures = 0;   // attempts that the program itself failed
  int32_t losses = 0;     // attempts in a row that ended because of a lost node or a failed start
  int32_t retries = 0;    // attempts in a row that ended with one of retry_exits
  int32_t exit_code = 0;  // what `hpcctl run` answers with; meaningful once terminal
  bool cancel_requested = false;
  std::string on_hold;  // while queued: who holds it there, in words; "": it may start
  absl::Time retry_at = absl::InfinitePast();  // while queued: it is not started before this time
  std::vector<std::string> leave_asleep;       // nodes that it left because they were to sleep
  // Nodes that cannot run it, as was found after it had run on others. It does not grow onto them.
  std::vector<std::string> refused_by;
  absl::Time submitted_at;
  absl::Time started_at = absl::InfinitePast();  // when all ranks ran for the first time
  absl::Time ended_at = absl::InfinitePast();

  bool operator==(const RunRecord&) const = default;
};

// ------------------------------------------------------------------------------------- attempts

enum class AttemptState {
  kWaking = 1,     // waits for allocated nodes that are off
  kPreparing = 2,  // nodes check the program, take devices, bind the store's port
  kStarting = 3,   // all are prepared; ranks are being started
  kRunning = 4,    // every rank has been started
  kStopping = 5,   // ranks were told to end
  kEnded = 6,      // every node has returned its devices, or is known never to
};
const char* Name(AttemptState state);

// Why an attempt ended. This decides whether the run goes on and which budget pays.
enum class AttemptOutcome {
  kNone = 0,
  kSucceeded = 1,      // every rank exited 0 of its own accord
  kProgramFailed = 2,  // a rank failed first; costs a restart
  kRefused = 3,  // a node could not prepare it (command not found ...): restarting cannot help
  kCancelled = 4,
  kTimedOut = 5,
  kReclaimed = 6,    // an owner took a PC back; costs nothing
  kNodeLost = 7,     // a node vanished or its supervisor died; infrastructure budget
  kStartFailed = 8,  // a node did not answer or wake in time; infrastructure budget
  kGrown = 9,        // stopped to go on with more nodes; costs nothing
  kShrunk = 10,      // stopped to give nodes to another run and go on with fewer; costs nothing
};
const char* Name(AttemptOutcome outcome);

// Why an attempt ends. The kinds of causes differ in how much they say about whose fault that is.
enum class CauseKind {
  kOrdered = 1,  // the coordinator's own decision: a cancel, a time limit, growth, a reclaim
  kCluster = 2,  // a node, its supervisor or the network: ranks were ended there, or may be
  kAsked = 3,    // a rank ended with a code of --retry-exit
  // A rank died of a SIGKILL that we did not send. The end of a peer never brings that about, but
  // the kernel does when memory runs out.
  kKilled = 4,
  kOwn = 5,     // a rank failed, and its last words speak of its own trouble
  kSilent = 6,  // a rank failed without a word
  kOfPeer = 7,  // a rank failed, and its last words speak of a peer: "connection closed by peer"
  // A rank ended by a SIGTERM that hpcctl did not send: its PC may be going down.
  kTerminated = 8,
};

// Whether it is the kind of a rank's failure.
inline bool IsFailure(CauseKind kind) {
  return kind != CauseKind::kOrdered && kind != CauseKind::kCluster;
}

// One cause of the end of an attempt (cause.h), as it is stored.
struct CauseRecord {
  CauseKind kind = CauseKind::kOrdered;
  int32_t rank = -1;
  // Of the failure of a rank, only the above is stored: the rank's own record tells the rest.
  AttemptOutcome outcome = AttemptOutcome::kNone;
  absl::Time from = absl::InfinitePast();
  absl::Time until = absl::InfinitePast();
  std::string node;
  std::string text;
  int32_t exit_code = 0;
  bool free_of_charge = false;
  bool guessed = false;
  bool of_complaints = false;

  bool operator==(const CauseRecord&) const = default;
};

struct AttemptRecord {
  AttemptRef ref;
  AttemptState state = AttemptState::kPreparing;
  AttemptOutcome outcome = AttemptOutcome::kNone;
  std::string reason;
  std::string placement_reason;  // why these nodes were chosen
  int32_t world_size = 0;
  std::string master_addr;  // IP literal
  int32_t master_port = 0;
  protocol::StoreHost store_host = protocol::StoreHost::kWorker;  // as it was decided: never kAuto
  absl::Time created_at;
  absl::Time started_at = absl::InfinitePast();
  absl::Time ended_at = absl::InfinitePast();
  // What is known of the cause that decides, from the moment that the attempt is being stopped: the
  // two times between which it happened, the exit code of the rank that failed or of a refusal, and
  // whether no budget of the run pays.
  absl::Time caused_from = absl::InfinitePast();
  absl::Time caused_until = absl::InfinitePast();
  int32_t exit_code = 0;
  bool free_of_charge = false;
  // All causes that are known, in the order in which they were heard. Failures of ranks that were
  // heard after the last other cause may be left out.
  std::vector<CauseRecord> causes;

  bool operator==(const AttemptRecord&) const = default;
};

// One node's part in an attempt.
struct PlacementRecord {
  AttemptRef ref;
  std::string node;
  int32_t node_rank = 0;         // GROUP_RANK
  std::string address;           // the node's IP literal at that time
  std::vector<int32_t> devices;  // indices in the node's device list
  int32_t first_rank = 0;        // global rank of its local rank 0
  int32_t ranks = 0;
  bool returned = false;  // it is proved that no process of the attempt is left there

  bool operator==(const PlacementRecord&) const = default;
};

struct RankRecord {
  AttemptRef ref;
  int32_t rank = 0;
  int32_t local_rank = 0;
  std::string node;
  std::vector<int32_t> devices;
  int64_t pid = 0;
  std::optional<protocol::RankExit> exit;
  absl::Time started_at = absl::InfinitePast();
  absl::Time ended_from = absl::InfinitePast();  // it may have ended as early as this
  absl::Time ended_at = absl::InfinitePast();

  bool operator==(const RankRecord&) const = default;
};

// ---------------------------------------------------------------------------------------- nodes

// Whether the coordinator can talk to the node.
enum class Link {
  kNever = 1,  // only its name is known (restored, not seen since)
  kConnected = 2,
  kLost = 3,  // unexpectedly silent: its lease has run out or its connection was reset
};

// The last known power state. That a node was asked to sleep or to wake is a state, too, so that it
// is not asked twice.
enum class Power {
  kOn = 1,
  kDraining = 2,       // asked to sleep; its attempts are still being stopped
  kFallingAsleep = 3,  // told to run its power command; not yet proved off
  kOff = 4,            // off as expected, which is not a failure; may be allocated
  kWaking = 5,         // packets are being sent; waits for a hello
  kStopped = 6,        // its worker was stopped as expected, but the PC may be on; never woken
};
const char* Name(Power power);

struct NodeRecord {
  std::string name;
  std::string address;  // the IP literal under which peers reach it
  protocol::Inventory inventory;
  std::string boot_id;
  bool reclaimed = false;  // its owner has it
  absl::Time reclaimed_until = absl::InfiniteFuture();
  std::string reclaim_reason;
  Power power = Power::kOn;
  std::string reason;  // the state of its power in words; while it is on: why it did not go to
                       // sleep, or ""
  // Why its certificate is void, in words; "" while it is good. A node with a void certificate does
  // not count among the nodes that exist until it says hello again.
  std::string revoked;
  // An admin has forgotten it, so it is not a node any more. Its name stays for the runs that ran
  // there.
  bool forgotten = false;
  absl::Time first_seen;
  absl::Time last_seen;

  bool operator==(const NodeRecord&) const = default;
};

// --------------------------------------------------------------------------------------- events

enum class Severity { kInfo = 1, kWarning = 2, kError = 3 };

// One decision or observation with its reason in words. `hpcctl why` and every watch read these.
struct EventRecord {
  EventId id = 0;
  absl::Time at;
  Severity severity = Severity::kInfo;
  std::string kind;  // stable, "run.queued"; list in docs/STORAGE.md
  RunId run = 0;
  int32_t attempt = 0;
  std::string node;
  int32_t rank = -1;
  std::string text;

  bool operator==(const EventRecord&) const = default;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_RECORDS_H_
