// What the coordinator says to a worker: CoordinatorMessage in proto/hpc/v1/worker.proto, without
// protobuf.
#ifndef HPC_PROTOCOL_COORDINATOR_MESSAGE_H_
#define HPC_PROTOCOL_COORDINATOR_MESSAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "protocol/hello.h"
#include "protocol/launch.h"
#include "protocol/output.h"
#include "protocol/prepare.h"
#include "protocol/recall.h"

namespace hpc::protocol {

// The coordinator has heard what was said at `sent`. The shell has converted that time to the clock
// of Now.
struct Heard {
  MonoTime sent;
};

// Start the ranks. The answer is Started.
struct Start {
  AttemptRef ref;
  std::string master_addr;
  int32_t master_port = 0;
  StoreHost store_host = StoreHost::kWorker;
  bool witnessed = false;  // its nodes vouch for one another
};

// Do not vouch for the attempt for this long. The answer is Doubted, with the same `asked`.
struct Doubt {
  AttemptRef ref;
  absl::Duration span;
  MonoTime asked;  // by the clock of the coordinator, which alone can use it
};

// Send the run's stop signal to every rank now, and SIGKILL to all that is left after `grace`. This
// also rolls back a preparation. The answer is AttemptReturned, once no process is left.
struct Stop {
  AttemptRef ref;
  absl::Duration grace;
  std::string reason;
  bool interrupt = false;  // somebody has typed Ctrl-C
};

// The attempt is over and recorded: once its logs and metrics are acknowledged, delete its files.
struct Forget {
  AttemptRef ref;
};

// The owner takes the PC, or gives it back. The worker remembers this while the coordinator is
// away.
struct SetOwner {
  bool reclaimed = false;
  std::optional<absl::Duration> left;  // unset: until lent
  std::string reason;
  // Reclaimed: how long ranks there may live from now on. Unset: the worker decides.
  std::optional<absl::Duration> grace = std::nullopt;
};

// Run the node's power command. Sent only when no attempt is left there.
struct GoToSleep {
  std::string reason;
};

using CoordinatorMessage = std::variant<Welcome, Heard, Prepare, Start, Doubt, Recall, Stop, Forget,
                                        SetOwner, GoToSleep, LogAck, MetricAck>;

}  // namespace hpc::protocol

#endif  // HPC_PROTOCOL_COORDINATOR_MESSAGE_H_
