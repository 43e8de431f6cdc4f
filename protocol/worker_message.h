// What a worker says to the coordinator once it has said hello: WorkerMessage in
// proto/hpc/v1/worker.proto, without protobuf.
#ifndef HPC_PROTOCOL_WORKER_MESSAGE_H_
#define HPC_PROTOCOL_WORKER_MESSAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "protocol/halt.h"
#include "protocol/held_attempt.h"
#include "protocol/output.h"
#include "protocol/prepare.h"
#include "protocol/rank_exit.h"
#include "protocol/recall.h"

namespace hpc::protocol {

// The owner used `hpc-worker reclaim|lend` on the PC itself.
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

// The node was told to sleep, and could not.
struct SleepFailed {
  std::string error;
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

// The node does not vouch for the attempt.
struct Doubted {
  AttemptRef ref;
  MonoTime asked;  // as in Doubt
};

// The node ends the attempt's ranks by itself. AttemptReturned follows when they are gone.
struct AttemptHalted {
  AttemptRef ref;
  Halt halt;
};

// No process of the attempt is left on the node, and its devices are free.
struct AttemptReturned {
  AttemptRef ref;
  Halt halt;           // what ended the attempt there
  int32_t killed = 0;  // processes that needed SIGKILL
};

struct EnvironmentReport {
  AttemptRef ref;
  KeyValues facts;
  KeyValues added;
};

// What a process is doing, in words; sent with a heartbeat. Rank -1 stands for a process that
// survives SIGKILL and keeps its device.
struct RankDoing {
  AttemptRef ref;
  int32_t rank = 0;
  std::string text;
};

// The node's worker gets no answers from that of rank 0, at the port where ranks meet. Sent with a
// heartbeat as long as it lasts.
struct PeerSilence {
  AttemptRef ref;
  std::string address;  // IP literal that was asked
  int32_t port = 0;
  absl::Duration lasts;  // since it last answered, or since it was first asked
  std::string error;     // what the last try to connect came to; "": no answer at all
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
  // A program on the store's PC that was not let in, since it runs as another account than the
  // ranks. Both are numbers of accounts on that PC.
  struct Refusal {
    uint32_t account = 0;
    uint32_t ranks_account = 0;
  };
  std::optional<Refusal> refusal;  // the last one
};

using WorkerMessage =
    std::variant<OwnerChanged, Leaving, HandingOver, SleepFailed, Prepared, Started, RankEnded,
                 Doubted, Recalled, AttemptHalted, AttemptReturned, EnvironmentReport,
                 RendezvousReport, LogData, LogEnd, MetricData>;

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_WORKER_MESSAGE_H_
