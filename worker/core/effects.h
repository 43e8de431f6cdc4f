// What the agent wants done, in the order it must be done.
#ifndef HPC_WORKER_CORE_EFFECTS_H_
#define HPC_WORKER_CORE_EFFECTS_H_

#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "protocol/coordinator_message.h"
#include "protocol/worker_message.h"
#include "worker/core/owner_state.h"

namespace hpc::worker {

// Open a stream to the coordinator and say hello on it. The shell answers with OnMessage(Welcome)
// or OnLinkClosed.
struct OpenLink {
  protocol::Hello hello;
};

// End the stream if there is one. OnLinkClosed is not expected to follow.
struct CloseLink {
  std::string reason;
};

// Send a message on the open stream. The agent says nothing while there is none: the next hello
// tells all.
struct Say {
  protocol::WorkerMessage message;
};

// Send a heartbeat. The shell adds what the devices are doing.
struct SayHeartbeat {
  // Nothing depends yet on when the coordinator hears this heartbeat.
  bool answer_may_wait = false;
};

// Check everything, take what is needed, start the supervisor. The shell answers with OnPrepared,
// or with OnReturned if StopAttempt comes first.
struct PrepareAttempt {
  protocol::Prepare prepare;
};

// Start the ranks. The shell answers with OnRankStarted or OnRankExited for each.
struct StartAttempt {
  protocol::Start start;
};

// End the ranks, or undo the preparation. The shell answers with OnReturned. A second StopAttempt
// can only shorten the time that is left.
struct StopAttempt {
  AttemptRef ref;
  absl::Duration grace;
  std::string reason;
  // Why this node itself wants to stop it; kNone: the coordinator wants it. It is stored, so that
  // the next worker finds it.
  protocol::HaltKind halt = protocol::HaltKind::kNone;
  bool interrupt = false;  // somebody has typed Ctrl-C
};

// Delete the attempt's files once its output is acknowledged. The shell answers with OnDropped.
struct DropAttempt {
  AttemptRef ref;
};

// Tell every supervisor that the coordinator has been heard.
struct ExtendLeases {};

// The ranks of a witnessed attempt may live until this time, whatever happens to this worker. Their
// supervisor kills them then if it has not been told a later time.
struct SetFence {
  AttemptRef ref;
  MonoTime until;
};

// Ask the supervisor of an attempt on another node to end its ranks there. The shell answers with
// OnRecalled.
struct RecallRanks {
  protocol::Recall recall;
};

// Make the owner's wish durable.
struct SaveOwner {
  OwnerState state;
};

// Run the power command. The shell answers with OnPowerCommandEnded, and then with OnResumed,
// OnSleepFailed or OnFallingAsleep.
struct Sleep {
  std::string reason;
};

// An entry for the log: what was decided and why.
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
