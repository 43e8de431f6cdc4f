// Why an attempt ends: all causes that are known, and which of them decides.
//
// Reports cross. A rank says "connection closed by peer", and that is heard at once. Two seconds
// later it is heard that the owner of the peer's PC had taken that PC back. So an attempt gathers
// causes until all of its nodes are done with it, and each new cause may change the verdict.
#ifndef HPC_COORDINATOR_CORE_VALUES_CAUSE_H_
#define HPC_COORDINATOR_CORE_VALUES_CAUSE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/core/values/node_clock.h"
#include "coordinator/core/values/records.h"
#include "protocol/rank_exit.h"

namespace hpc::coordinator {

struct Cause {
  CauseKind kind = CauseKind::kOrdered;
  AttemptOutcome outcome = AttemptOutcome::kNone;
  Window when;
  std::string node;  // where it happened; "" if on no node
  std::string text;
  int32_t exit_code = 0;        // the code of the rank that failed, or of a refusal
  bool free_of_charge = false;  // no budget pays for it
  // The node ended ranks by itself and has not said why yet. When it says why, that replaces this
  // cause.
  bool guessed = false;
  // When it happened on the clock of its node; unset if the node did not say its time.
  std::optional<NodeWindow> there = {};
  int32_t rank = -1;  // the rank that ended; -1: none, or not known
  MonoTime told{};    // when this coordinator heard of it, for the failure of a rank
  // The rank may have answered a SIGTERM that its PC sends to everybody when it goes down.
  bool may_answer_sigterm = false;
  // It explains complaints about a peer, and what fails on its own node while it lasts: for example
  // a cable that was out for a moment.
  bool of_complaints = false;

  bool operator==(const Cause&) const = default;
};

// A process may have closed its connections up to this long before it was reaped, or had spoken
// last: the kernel needs time to clear away what a process leaves.
inline constexpr absl::Duration kTeardown = absl::Milliseconds(250);

// The first failure that may be a consequence waits this long for what its peer, or its node, says.
inline constexpr absl::Duration kWordOfPeer = absl::Seconds(1);

// Whether the cause is the failure of a rank.
inline bool IsFailure(const Cause& cause) { return IsFailure(cause.kind); }

// When the rank failed: between its traceback, if it wrote one, and `reaped`, when its end was
// seen. It may have caught that exception and gone on, so nothing more exact is known.
Moment FailedAt(const protocol::RankExit& exit, const Moment& reaped);

// The kind of failure of a rank that was not told to end.
CauseKind KindOfFailure(const protocol::RankExit& exit, const std::vector<int32_t>& retry_exits);

// The cause for a rank that failed without having been told to end. The rank must have an exit.
// `reaped` is when its end was seen.
Cause FailureOf(const RankRecord& rank, const Moment& reaped,
                const std::vector<int32_t>& retry_exits);
// A rank that was told to end may have failed before: its last words are an exception that does not
// speak of a peer. Returns that in words, or "". The rank must have an exit.
std::string SpokenOf(const RankRecord& rank);
// The cause for ranks that were ended on `node`, or may have been, without the coordinator's order.
Cause ClusterCause(AttemptOutcome outcome, const std::string& node, const Window& when,
                   const std::string& text);
// The cause for an order that the coordinator gives now.
Cause OrderedCause(AttemptOutcome outcome, MonoTime now, const std::string& text);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_CAUSE_H_
