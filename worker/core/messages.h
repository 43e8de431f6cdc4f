// What a worker and the coordinator say to each other, as plain values: proto/hpc/v1/worker.proto
// without protobuf. The shell adds what only it knows (inventory, device usage, address).
#ifndef HPC_WORKER_CORE_MESSAGES_H_
#define HPC_WORKER_CORE_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"

namespace hpc::worker {

enum class LaunchMode { kTorchrun = 1, kPerNode = 2 };
enum class StoreHost { kAuto = 1, kWorker = 2, kRank0 = 3 };
enum class LegacyLocalRank { kNone = 1, kDash = 2, kUnderscore = 3 };

using KeyValues = std::vector<std::pair<std::string, std::string>>;

// How a rank ended; exactly one of exit_code and signal is set.
struct RankExit {
  std::optional<int32_t> exit_code;
  std::optional<int32_t> signal;
  bool after_stop = false;
  std::string message;
  std::string traceback;

  bool operator==(const RankExit&) const = default;
};

// How long ago a rank started and ended; zero for what has not happened. The difference is how long
// the rank ran, as its supervisor measured it.
struct RankAges {
  absl::Duration started;
  absl::Duration ended;
  absl::Duration ended_within = {};  // it may have ended up to this much earlier: nobody looked

  bool operator==(const RankAges&) const = default;
};

// Why ranks of an attempt ended on this node without the coordinator's order.
enum class HaltKind {
  kNone = 0,
  kOwner = 1,           // the owner took the PC back
  kCutOff = 2,          // no contact for too long, or the worker was frozen
  kSupervisorLost = 3,  // the supervisor was killed, and its ranks with it
  kLeaving = 4,         // the PC or this worker is going down
  kDamaged = 5,         // the worker's records of the attempt contradict each other
};

struct Halt {
  HaltKind kind = HaltKind::kNone;
  std::string reason;  // in words
  absl::Duration ago = {};
  absl::Duration within = {};  // it may have happened up to this much earlier

  bool operator==(const Halt&) const = default;
};

// One stream of a rank's output.
struct StreamId {
  AttemptRef ref;
  int32_t rank = 0;
  bool is_stderr = false;

  auto operator<=>(const StreamId&) const = default;
};

// ---------------------------------------------------------------------------- coordinator says

struct Welcome {
  absl::Duration lease = absl::Seconds(6);
  absl::Duration heartbeat_interval = absl::Seconds(2);
  absl::Duration stop_after_disconnect = absl::Minutes(5);
  // Ranks of a witnessed attempt may live for these times: `contact_limit` after the coordinator is
  // known to have heard us, and `vouch_limit` after the attempt's nodes vouched for one another.
  absl::Duration contact_limit = absl::Seconds(5);
  absl::Duration vouch_limit = absl::Seconds(2);
};

// The coordinator has heard what was said at `sent`. The shell has converted that time to the clock
// of Now.
struct Heard {
  MonoTime sent;
};

struct Peer {
  std::string node;
  std::string address;
  int32_t first_rank = 0;
  int32_t ranks = 0;
};

// The most ranks of a run. A message with more is damaged, and must not make us allocate memory.
inline constexpr int32_t kMaxRanks = 65'536;
constexpr bool ArePossibleRanks(int32_t first, int32_t count) {
  return first >= 0 && count >= 0 && count <= kMaxRanks && first <= kMaxRanks - count;
}

// Longer than any time that can be asked for. A supervisor counts time in nanoseconds, which
// overflow after 292 years.
inline constexpr absl::Duration kMaxSpan = absl::Hours(365 * 24);

struct Prepare {
  AttemptRef ref;
  int32_t node_rank = 0;
  std::vector<int32_t> devices;
  int32_t first_rank = 0;
  int32_t ranks = 0;
  int32_t world_size = 0;
  std::vector<Peer> peers;  // by node rank, this node included
  LaunchMode mode = LaunchMode::kTorchrun;
  StoreHost store_host = StoreHost::kAuto;
  int32_t restart_count = 0;
  int32_t max_restarts = 0;
  absl::Duration stop_grace = absl::Seconds(30);

  std::string run_name;
  std::string experiment;
  std::vector<std::string> command;
  std::string workdir;
  KeyValues env;
  LegacyLocalRank legacy_local_rank = LegacyLocalRank::kNone;
  KeyValues params;
  std::string user;  // who submitted the run; "" if there are no identities
};

struct Start {
  AttemptRef ref;
  std::string master_addr;
  int32_t master_port = 0;
  StoreHost store_host = StoreHost::kWorker;
  bool witnessed = false;  // its nodes vouch for one another
};

// Do not vouch for the attempt for this long.
struct Doubt {
  AttemptRef ref;
  absl::Duration span;
  int64_t asked_us = 0;  // when it was asked, by the coordinator's clock
};

// How another node of the gang can end the ranks of a node whose worker is gone.
struct RecallAccess {
  int32_t port = 0;  // 0: it cannot
  std::string key, proof;
};

// The worker of `node` is gone: ask its supervisor to end the attempt's ranks there.
struct Recall {
  AttemptRef ref;
  std::string node;
  std::string address;
  RecallAccess access;
  absl::Duration grace;
};

struct Stop {
  AttemptRef ref;
  absl::Duration grace;
  std::string reason;
};

struct Forget {
  AttemptRef ref;
};

struct SetOwner {
  bool reclaimed = false;
  std::optional<absl::Duration> left;  // unset: until lent
  std::string reason;
};

struct GoToSleep {
  std::string reason;
};

// The most bytes of anything that ranks write. A message with more is damaged, and sums of offsets
// must not overflow.
inline constexpr int64_t kMaxOffset = int64_t{1} << 45;

struct LogAck {
  StreamId stream;
  int64_t offset = 0;
};

struct MetricAck {
  AttemptRef ref;
  int32_t rank = 0;
  int64_t end_offset = 0;
};

using CoordinatorMessage = std::variant<Welcome, Heard, Prepare, Start, Doubt, Recall, Stop, Forget,
                                        SetOwner, GoToSleep, LogAck, MetricAck>;

// --------------------------------------------------------------------------------- worker says

struct HeldRank {
  int32_t rank = 0;
  int64_t pid = 0;
  std::optional<RankExit> exit;
  RankAges ago;
};

struct HeldAttempt {
  AttemptRef ref;
  bool started = false;
  bool returned = false;
  std::vector<HeldRank> ranks;
  Halt halt;
  bool store_lost = false;
  bool witnessed = false;
};

struct Hello {
  bool resumed = false;
  bool owner_changed = false;  // it changed on the PC, and the coordinator has not heard of that
  bool reclaimed = false;
  std::optional<absl::Duration> reclaim_left;
  std::string reclaim_reason;
  std::vector<HeldAttempt> attempts;
};

struct OwnerChanged {
  bool reclaimed = false;
  std::optional<absl::Duration> duration;  // unset: until lent
  std::string reason;
  absl::Duration grace;
};

struct Leaving {
  std::string reason;
  bool stays_on = false;  // only the worker ends, not the PC
};

// This worker ends, and its ranks live on for the next one.
struct HandingOver {};

struct SleepFailed {
  std::string error;
};

struct Prepared {
  AttemptRef ref;
  absl::Status status;
  std::string store_addr;  // only from the node that hosts the store
  int32_t store_port = 0;
  bool store_client_ok = true;
  RecallAccess recall = {};
};

struct Started {
  AttemptRef ref;
  std::vector<HeldRank> ranks;
};

struct RankEnded {
  AttemptRef ref;
  int32_t rank = 0;
  RankExit exit;
  RankAges ago;
};

struct Doubted {
  AttemptRef ref;
  int64_t asked_us = 0;
};

struct Recalled {
  AttemptRef ref;
  std::string node;
  absl::Status status;  // OK: nothing of the attempt is left there
};

// The node ends the attempt's ranks by itself. AttemptReturned follows when they are gone.
struct AttemptHalted {
  AttemptRef ref;
  Halt halt;
};

struct AttemptReturned {
  AttemptRef ref;
  Halt halt;
};

// The shell makes the messages below; the agent knows nothing about output.
struct EnvironmentReport {
  AttemptRef ref;
  KeyValues facts;
  KeyValues added;
};

// What a rank is doing; sent with a heartbeat. Rank -1 stands for a process that survives SIGKILL.
struct RankDoing {
  AttemptRef ref;
  int32_t rank = 0;
  std::string text;
};

struct RendezvousReport {
  AttemptRef ref;
  std::vector<std::pair<std::string, int64_t>> arrivals;  // address and pid
  std::string blocked_key;
  int32_t waiting = 0;
};

struct LogData {
  StreamId stream;
  int64_t offset = 0;
  std::string data;
};

struct LogEnd {
  StreamId stream;
  int64_t cut_bytes = 0;
};

struct MetricPoint {
  std::string key;
  int64_t step = 0;
  double value = 0;
  absl::Duration age;
};

struct MetricData {
  AttemptRef ref;
  int32_t rank = 0;
  int64_t end_offset = 0;
  std::vector<MetricPoint> points;
  std::vector<std::string> remarks;  // problems with the file, for the user to read
  bool ended = false;                // nothing more will follow
};

using WorkerMessage =
    std::variant<OwnerChanged, Leaving, HandingOver, SleepFailed, Prepared, Started, RankEnded,
                 Doubted, Recalled, AttemptHalted, AttemptReturned, EnvironmentReport,
                 RendezvousReport, LogData, LogEnd, MetricData>;

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_MESSAGES_H_
