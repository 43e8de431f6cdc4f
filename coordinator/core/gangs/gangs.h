// The life of attempts: a gang starts together or not at all, the first failure ends all of it, and
// it is over when every node has returned its devices.
//
// gang_start.cc: from placement to running. gang_stop.cc: telling ranks to end. gang_end.cc: what
// ranks and nodes report about their end, and what follows for the run. gang_judge.cc: which cause
// decides. gang_fence.cc: when ranks on nodes that are gone have ended.
#ifndef HPC_COORDINATOR_CORE_GANGS_GANGS_H_
#define HPC_COORDINATOR_CORE_GANGS_GANGS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordinator/core/gangs/run_ledger.h"
#include "coordinator/core/policy/fit.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/reports.h"

namespace hpc::coordinator {

// Why and how the coordinator stops a gang.
struct StopOrder {
  AttemptOutcome outcome = AttemptOutcome::kNone;
  std::string reason;
  absl::Duration grace = absl::ZeroDuration();
  int32_t exit_code = 0;        // of a refusal
  bool free_of_charge = false;  // nobody's budget pays
};

class Gangs {
 public:
  Gangs(State* state, RunLedger* ledger) : state_(state), ledger_(ledger) {}

  // ---- start
  // A node of the fit: its place in the table, and its share.
  struct Seat {
    Node* node;
    std::vector<int32_t> devices;
    int32_t ranks;
  };
  // Makes the run's next attempt. It is prepared at once if all its nodes are on, else as soon as
  // NodeReady has been called for the others.
  void Begin(Turn& turn, Run* run, const std::vector<Seat>& seats, const std::string& reason);
  void NodeReady(Turn& turn, const Node& node);
  void Prepared(Turn& turn, Run* run, Member* member, const PreparedReport& report);
  void Started(Turn& turn, Run* run, Member* member, const std::vector<StartedRank>& ranks);

  // ---- stop
  // Stops every rank of the run's attempt, within the order's grace or the run's own, whichever is
  // shorter. Where it is stopping already, an order that leaves less time than is left shortens it,
  // and none lengthens it. The order is one of the attempt's causes from now on (cause.h).
  void Stop(Turn& turn, Run* run, const StopOrder& order);
  // The same for a cause that need not be an order, nor of now.
  void StopFor(Turn& turn, Run* run, const Cause& cause, absl::Duration grace);
  // The same of all attempts that hold devices there.
  void StopAllOn(Turn& turn, const Node& node, const Cause& cause, absl::Duration grace);
  // Says it again to a node that may not have heard it.
  void RepeatStop(Turn& turn, const Run& run, const Member& member);

  // ---- end
  void RankEnded(Turn& turn, Run* run, Member* member, int32_t rank, const RankExit& exit,
                 RankAges ago);
  // The node holds nothing of the attempt any more. `halt`: what ended its ranks there.
  void Returned(Turn& turn, Run* run, Member* member, const Halt& halt);
  // The same of a node whose PC has started anew: what it had ended when it fell silent.
  void Restarted(Turn& turn, Run* run, Member* member);
  // The node has ended the attempt's ranks by itself, or lost them, and may still have some.
  void Halted(Turn& turn, Run* run, Member* member, const Halt& halt);
  // Stops the attempt because ranks of it have failed, if any have. Where these failures may be
  // consequences (MayBeConsequences), the others have kWordOfPeer from the first on to end by
  // themselves, so that their own word is heard: a rank that puts its connections away before it
  // ends is heard last.
  void StopForFailures(Turn& turn, Run* run);
  // The node's worker is back, on the boot that it had, and does not know the attempt. That is no
  // proof that nothing of it runs there: the devices stay taken until the fence, whatever the
  // worker says of an attempt that it does not know.
  void Disowned(Turn& turn, Run* run, Member* member);
  // The node is gone, unexpectedly (kNodeLost) or not (kReclaimed): what it had may still run there
  // until its fence.
  void NodeGone(Turn& turn, const Node& node, AttemptOutcome outcome, const std::string& why);

  // A node was told to recall the ranks of `lost`, and found that none is left there.
  void Recalled(Turn& turn, Run* run, Member* lost, const std::string& by);
  // It could not: another of the gang tries.
  void NotRecalled(Turn& turn, Run* run, Member* lost, const std::string& by);

  // ---- silence
  // The attempt is a witnessed one: from now on silence of its nodes is looked at.
  void WatchSilence(const Attempt& attempt);
  // It may be time to doubt that the node is there.
  void LookAtSilence(Turn& turn, Node* node);
  // Asks the other nodes of its witnessed attempts not to vouch for them for a while.
  void Doubt(Turn& turn, const Node& node);
  // The member does not vouch, from now on and for as long as it was `asked` to then.
  void Doubted(Turn& turn, Run* run, Member* member, MonoTime asked);
  // Its worker may be another process than the one that gave them.
  void ForgetPromises(const Node& node);

  // ---- time
  // What the attempt is doing has taken too long.
  void PhaseOver(Turn& turn, Run* run);
  // A lost node's ranks may have ended by now.
  void FencePassed(Turn& turn, Run* run);
  // Arms what a restored attempt waits for.
  void Watch(Run* run);

 private:
  void SendPrepare(Turn& turn, Run* run);
  bool CanBeWitnessed(const Run& run) const;
  void SendStart(Turn& turn, Run* run);
  void BeginStop(Turn& turn, Run* run, absl::Duration grace);
  // When it was, `ago` before the node said what is being read, or up to `within` earlier.
  Window WhenOn(const std::string& node, Now now, absl::Duration ago, absl::Duration within) const;
  // Adds a cause, or puts it in the place of what was guessed of its node.
  static void Learn(Attempt* attempt, const Cause& cause);
  // Nothing, where the node did not end it by itself.
  std::optional<Cause> CauseOf(const Turn& turn, const Attempt& attempt, const std::string& node,
                               const Halt& halt) const;
  // The node holds nothing of it any more, because of `why` if that is set.
  void TakeReturn(Turn& turn, Run* run, Member* member, const std::optional<Cause>& why);
  void LearnFailure(const Turn& turn, Run* run, const RankRecord& rank, RankAges ago);
  // Writes down what the causes say. Returns whether that is news.
  static bool TakeVerdict(Now now, Attempt* attempt);
  void JudgeAgain(Turn& turn, Run* run);
  // Of a stopping attempt: nodes that are still preparing have no ranks of it, whatever keeps them,
  // and are not waited for.
  void LeaveUnstarted(Turn& turn, Run* run);
  // The node is the last choice for a while.
  void WorkElsewhere(const Turn& turn, const std::string& name, const std::string& why);
  // Leaves a stopping attempt at most `grace` from now.
  void Hasten(Turn& turn, Run* run, absl::Duration grace);
  // Has another node of the gang end what is left on the node of `lost`: the next one behind that
  // which was asked before.
  void Recall(Turn& turn, const Run& run, Member* lost, absl::Duration grace);
  // Works out when the ranks of each lost node have ended.
  void ArmFence(Run* run);
  MonoTime HeardOf(const Member& member) const;
  void GiveBack(Turn& turn, Run* run, Member* member);
  void FinishIfReturned(Turn& turn, Run* run);
  void Finish(Turn& turn, Run* run);
  // Every rank has exited 0; devices that do not come back now are held by something left behind.
  void WatchLinger(Turn& turn, Run* run);
  std::vector<Run*> RunsOn(const Node& node);

  State* state_;
  RunLedger* ledger_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_GANGS_H_
