// What the agent wants done, in the order it must be done.
#ifndef HPC_WORKER_CORE_EFFECTS_H_
#define HPC_WORKER_CORE_EFFECTS_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "worker/core/messages.h"
#include "worker/core/owner_state.h"

namespace hpc::worker {

// Open a stream to the coordinator and say hello on it. Answered by OnMessage(Welcome) or
// OnLinkClosed.
struct OpenLink {
  Hello hello;
};

// End the stream, if there is one; OnLinkClosed is not expected for it.
struct CloseLink {
  std::string reason;
};

// Said on the open stream. The agent says nothing while there is none: the next hello tells all.
struct Say {
  WorkerMessage message;
};

// The shell adds what the devices are doing.
struct SayHeartbeat {
  // Nothing depends yet on when the coordinator hears it.
  bool answer_may_wait = false;
};

// Check everything, take what is needed, start the supervisor. Answered by OnPrepared, or by
// OnReturned if StopAttempt comes first.
struct PrepareAttempt {
  Prepare prepare;
};

// Start the ranks. Answered by OnRankStarted or OnRankExited for each.
struct StartAttempt {
  Start start;
};

// End the ranks (or undo the preparation). Answered by OnReturned. A second one may only shorten
// the time left.
struct StopAttempt {
  AttemptRef ref;
  absl::Duration grace;
  std::string reason;
  // Why this node itself wants it; kNone: the coordinator does. To be found again by the next
  // worker.
  HaltKind halt = HaltKind::kNone;
};

// Delete the attempt's files once its output is acknowledged. Answered by OnDropped.
struct DropAttempt {
  AttemptRef ref;
};

// Tell every supervisor that the coordinator was heard from.
struct ExtendLeases {};

// The ranks of a witnessed attempt may live until then, whatever becomes of this worker: its
// supervisor kills them if it is not told of a later time by then.
struct SetFence {
  AttemptRef ref;
  MonoTime until;
};

// Ask the supervisor of an attempt on another node to end its ranks there. Answered by OnRecalled.
struct RecallRanks {
  Recall recall;
};

// Make the owner's wish durable.
struct SaveOwner {
  OwnerState state;
};

// Run the power command. Answered by OnPowerCommandEnded, and then by OnResumed, OnSleepFailed or
// OnFallingAsleep.
struct Sleep {
  std::string reason;
};

// For the log: what was decided and why.
struct Note {
  bool warning = false;
  std::string text;
};

using Effect =
    std::variant<OpenLink, CloseLink, Say, SayHeartbeat, PrepareAttempt, StartAttempt, StopAttempt,
                 DropAttempt, ExtendLeases, SetFence, RecallRanks, SaveOwner, Sleep, Note>;
using Effects = std::vector<Effect>;

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_EFFECTS_H_
