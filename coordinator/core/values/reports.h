// What workers, owners and clients tell the core, and what it answers. Plain values.
#ifndef HPC_COORDINATOR_CORE_VALUES_REPORTS_H_
#define HPC_COORDINATOR_CORE_VALUES_REPORTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/values/effects.h"
#include "coordinator/core/values/records.h"

namespace hpc::coordinator {

// How long before a report a rank started and ended, on the node's monotonic clock; the difference
// is how long it ran. Zero for what has not happened.
struct RankAges {
  absl::Duration started;
  absl::Duration ended;
  absl::Duration ended_within;  // it may have ended up to this much earlier: nobody looked
};

// Why ranks of an attempt ended on a node without the coordinator's order.
enum class HaltKind {
  kNone = 0,
  kOwner = 1,           // the owner took the PC back; he may have lent it again since
  kCutOff = 2,          // the node had lost contact, or its worker was frozen
  kSupervisorLost = 3,  // the supervisor was killed, and its ranks with it
  kLeaving = 4,         // the PC or its worker was going down
  kDamaged = 5,         // the worker's records of the attempt contradict each other
};

struct Halt {
  HaltKind kind = HaltKind::kNone;
  std::string reason;     // in words
  absl::Duration ago;     // how long before it was told
  absl::Duration within;  // it may have happened up to this much earlier
};

// What a connecting worker says about an attempt that it still has.
struct HeldAttempt {
  AttemptRef ref;
  bool started = false;
  bool returned = false;  // it is all over there; only its files are left
  struct Rank {
    int32_t rank = 0;
    int64_t pid = 0;
    std::optional<RankExit> exit;
    RankAges ago;
  };
  std::vector<Rank> ranks;
  Halt halt;                // kNone: the node did not end it by itself
  bool store_lost = false;  // it served the rendezvous store, which died with an earlier worker
  bool witnessed = false;   // whether it was started as a witnessed attempt
};

struct NodeHello {
  std::string node;
  uint64_t incarnation = 0;  // random, new with each start of the worker
  std::string boot_id;
  bool resumed = false;  // it woke from suspend since it was last connected
  std::string address;
  bool can_vouch = false;  // it knows how to vouch for attempts
  Inventory inventory;
  bool reclaimed = false;      // its owner's wish as the worker knows it
  bool owner_changed = false;  // the wish changed while disconnected: newer than ours
  std::optional<absl::Duration> reclaim_time_left;
  std::string reclaim_reason;
  std::optional<absl::Duration> said;  // as in NodeTimes; unset: the node does not say its time
  std::vector<HeldAttempt> attempts;
};

// The answer to a hello that was accepted.
struct Welcome {
  absl::Duration lease;
  absl::Duration heartbeat_interval;
  absl::Duration stop_after_disconnect;
  // Ranks of a witnessed attempt may live for these times: `contact_limit` after the coordinator
  // last heard their node, and `vouch_limit` after the nodes of the attempt last vouched for one
  // another.
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
  std::vector<Arrival> arrivals;  // all that have arrived so far
  std::string blocked_key;        // a key that clients wait for; "" when none
  int32_t waiting = 0;            // connections that wait for it
};

// What a process is doing, in words, as its node said last. Rank -1 stands for a process that
// survives SIGKILL and keeps its device.
struct RankDoing {
  AttemptRef ref;
  int32_t rank = 0;
  std::string text;
};

// What a run is waiting for; `why`, progress lines and listings show it.
struct RunWait {
  std::string text;            // "needs 4 nodes, 2 are free: pc3 is used by run 7, pc4 is asleep"
  int32_t queue_position = 0;  // 1 is next; 0: it is not queued (it waits for a run, or it runs)
};

struct StartedRank {
  int32_t rank = 0;
  int64_t pid = 0;
  absl::Duration started_ago;
};

// Says how a run ended that the core has forgotten, for --after; nothing if there never was such a
// run. It must be callable at any time.
using PastRunLookup = std::optional<RunState> (*)(void* context, RunId run);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_REPORTS_H_
