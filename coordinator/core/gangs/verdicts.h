// Why each attempt ends: gathers the causes as they are heard, and writes down the verdict that
// follows from all that is known (values/deciding_cause.h). Each new cause may change the verdict
// until the attempt is over.
#ifndef HPC_COORDINATOR_CORE_GANGS_VERDICTS_H_
#define HPC_COORDINATOR_CORE_GANGS_VERDICTS_H_

#include <optional>
#include <string>

#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/cause.h"
#include "protocol/held_attempt.h"

namespace hpc::coordinator {

// How a rank's end is told.
struct RankEnd {
  Moment ended;
  absl::Duration ran;  // from its start to its end; meaningless if it never ran
  std::optional<protocol::Apart> apart;
};
// The report may have waited to be read, which the node's clock tells.
RankEnd RankEndOf(const NodeClock& clock, const protocol::RankAges& ago, MonoTime now);

class Verdicts {
 public:
  explicit Verdicts(State* state) : state_(state) {}

  // The cause that the halt is; nothing if the node did not end the attempt by itself.
  std::optional<Cause> CauseOf(const Turn& turn, const Attempt& attempt, const std::string& node,
                               const protocol::Halt& halt) const;
  // The same where it is known otherwise when that was.
  std::optional<Cause> CauseOf(const std::string& node, const protocol::Halt& halt,
                               const Moment& halted) const;

  // ---- what is heard
  // A rank has failed by itself.
  void LearnFailure(Now now, Run* run, const RankRecord& rank, const Moment& ended);
  // The stop may have ended a rank that had failed before, as its last words say
  // (Causes::LearnSpokenOf).
  void LearnEarlierFailure(Turn& turn, Run* run, const RankRecord& rank);
  // Before the rank failed, its node had not heard others of its gang for a while. Does nothing
  // where a stop explains that.
  void LearnApart(const Turn& turn, Attempt* attempt, const RankRecord& rank,
                  const protocol::Apart& apart);
  // Adds the cause that a PC went down, and returns true, if the deciding rank may have answered
  // its SIGTERM, or may have failed for want of one that did.
  bool LearnGoingDown(Now now, Attempt* attempt);
  // The node tells again how its part ended: that dates better what is known of it.
  void ToldAgain(const Turn& turn, Run* run, const Member& member,
                 const protocol::HeldAttempt& held);

  // ---- what follows
  // Writes down the verdict from the causes. Returns whether it has changed.
  bool TakeVerdict(Now now, Attempt* attempt);
  // The same for an attempt that is being stopped, and saves it if the verdict has changed. Does
  // nothing for any other.
  void JudgeAgain(Turn& turn, Run* run);
  // Whether a node may still say something that changes the verdict.
  bool MayChange(const Turn& turn, Attempt* attempt) const;

 private:
  // The two parts of LearnGoingDown.
  bool LearnSigtermFailure(Attempt* attempt);
  bool LearnPossibleAnswer(Now now, Attempt* attempt);
  // Adds the cause that a node's connection carried nothing, if that explains all complaints so
  // far.
  void LearnHeldUp(Now now, Attempt* attempt);

  State* state_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_VERDICTS_H_
