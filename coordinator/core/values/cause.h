// Why an attempt ends: everything that is known to have gone wrong, and which of it decides.
//
// Reports cross. A rank says "connection closed by peer" and is heard at once; that the owner of
// its peer's PC had taken that PC back is heard two seconds later. So an attempt gathers causes
// until all of its nodes are done with it, and each new one may change the verdict.
#ifndef HPC_COORDINATOR_CORE_VALUES_CAUSE_H_
#define HPC_COORDINATOR_CORE_VALUES_CAUSE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/core/values/model.h"
#include "coordinator/core/values/node_clock.h"

namespace hpc::coordinator {

// How much a cause says about whose fault it is.
enum class CauseKind {
  kOrdered = 1,  // the coordinator's own decision: a cancel, a time limit, growth, a reclaim
  kCluster = 2,  // a node, its supervisor or the network: ranks were ended there, or may be
  kAsked = 3,    // a rank ended with a code of --retry-exit
  kKilled = 4,   // a rank died of SIGKILL, which no end of a peer brings about
  kOwn = 5,      // a rank failed, and its last words speak of its own trouble
  kSilent = 6,   // a rank failed without a word
  kOfPeer = 7,   // a rank failed, and its last words speak of a peer: "connection closed by peer"
};

struct Cause {
  CauseKind kind = CauseKind::kOrdered;
  AttemptOutcome outcome = AttemptOutcome::kNone;
  Window when;
  std::string node;  // on which it happened; "" if on none
  std::string text;
  int32_t exit_code = 0;        // of a rank that failed, or of a refusal
  bool free_of_charge = false;  // nobody's budget pays
  // The node ended ranks by itself and has not said why yet. Its word takes the place of this
  // cause.
  bool guessed = false;

  bool operator==(const Cause&) const = default;
};

// How long before it was reaped a process may have closed its connections: what it leaves is put
// away by the kernel, which takes its time.
inline constexpr absl::Duration kTeardown = absl::Milliseconds(250);

// Whether it is the end of a rank.
inline bool IsFailure(const Cause& cause) {
  return cause.kind != CauseKind::kOrdered && cause.kind != CauseKind::kCluster;
}

// How a rank that was not told to end has failed.
CauseKind KindOfFailure(const RankExit& exit, const std::vector<int32_t>& retry_exits);

// The rank, which has an exit, was not told to end and failed. `reaped`: when that was seen; it may
// have failed up to kTeardown earlier.
Cause FailureOf(const RankRecord& rank, const Window& reaped,
                const std::vector<int32_t>& retry_exits);
// Ranks were ended on `node`, or may be, and not by the coordinator's word.
Cause ClusterCause(AttemptOutcome outcome, const std::string& node, const Window& when,
                   const std::string& text);
// The coordinator decides so now.
Cause OrderedCause(AttemptOutcome outcome, MonoTime now, const std::string& text);

// The one of `causes`, which is not empty, that decides how the attempt ends.
//
// 1. Of failures of ranks the earliest counts. Between those that cannot be put in order, one that
//    asks for a restart comes before others, and one that speaks of a peer comes last. A rank may
//    close its connections before it ends, so one that speaks of a peer gives way to what that peer
//    says up to kWordOfPeer later; so does one without words to a peer that asks for a restart.
// 2. A failure decides only if it surely came before whatever else is known. A rank whose peers are
//    taken away may fail in any way that its program likes: with words about peers, with words of
//    its own, or by a signal. Only a rank that SIGKILL ended is no consequence; it decides if it
//    was probably first, that is if the later end of its window is.
// 3. Else the earliest of the other causes decides.
const Cause& Deciding(const std::vector<Cause>& causes);

// Whether the failures so far may be the consequence of one that is still to be heard: all of them
// speak of a peer, or say nothing where a rank `may_ask` for a restart (--retry-exit).
bool MayBeConsequences(const std::vector<Cause>& causes, bool may_ask);

// How long the first failure that may be a consequence waits for its peer's own word.
inline constexpr absl::Duration kWordOfPeer = absl::Seconds(1);

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_VALUES_CAUSE_H_
