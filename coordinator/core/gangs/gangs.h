// The life of attempts. A gang starts together or not at all. The first failure ends all of it, and
// it is over when every node has returned its devices.
//
// gang_starter.h: from placement to running.
// gang_stop.cc:   telling ranks to end.
// gang_end.cc:    what ranks and nodes report about their end, and what follows for the run.
// lost_nodes.h:   when ranks on nodes that are gone have ended.
// verdicts.h:     why an attempt ends.
#ifndef HPC_COORDINATOR_CORE_GANGS_GANGS_H_
#define HPC_COORDINATOR_CORE_GANGS_GANGS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "coordinator/core/gangs/lost_nodes.h"
#include "coordinator/core/gangs/run_ledger.h"
#include "coordinator/core/gangs/verdicts.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"
#include "coordinator/core/values/records.h"
#include "protocol/held_attempt.h"

namespace hpc::coordinator {

// Why and how the coordinator stops a gang.
struct StopOrder {
  AttemptOutcome outcome = AttemptOutcome::kNone;
  std::string reason;
  absl::Duration grace = absl::ZeroDuration();
  int32_t exit_code = 0;        // the code of a refusal
  bool free_of_charge = false;  // no budget pays for it
};

class Gangs {
 public:
  Gangs(State* state, RunLedger* ledger)
      : state_(state), ledger_(ledger), verdicts_(state), lost_nodes_(state) {}

  Verdicts& verdicts() { return verdicts_; }
  LostNodes& lost_nodes() { return lost_nodes_; }

  // ---- stop
  // Stops every rank of the run's attempt, within the order's grace or the run's own, whichever is
  // shorter. If the attempt is stopping already, an order that leaves less time than is left
  // shortens that time; no order lengthens it. From now on the order is one of the attempt's causes
  // (cause.h).
  void Stop(Turn& turn, Run* run, const StopOrder& order);
  // The same for any cause: it need not be an order, and need not have happened now.
  void StopFor(Turn& turn, Run* run, const Cause& cause, absl::Duration grace);
  // The same for all attempts that hold devices on the node.
  void StopAllOn(Turn& turn, const Node& node, const Cause& cause, absl::Duration grace);
  // Attempts on the node that are being stopped already get at most `grace` from now on.
  void HastenAllOn(Turn& turn, const Node& node, absl::Duration grace);
  // Gives the order to stop again to a node that may not have heard it.
  void RepeatStop(Turn& turn, const Run& run, const Member& member);

  // ---- end
  void RankEnded(Turn& turn, Run* run, Member* member, int32_t rank, const protocol::RankExit& exit,
                 const RankEnd& end);
  // The node holds nothing of the attempt any more. `why`: what ended its ranks there; nullopt:
  // they ended by themselves, or by our order.
  void Returned(Turn& turn, Run* run, Member* member, const std::optional<Cause>& why);
  // The node's PC has started anew: what it had of the attempt ended when it fell silent. `holds`:
  // it has files of it still, and returns it later.
  void Restarted(Turn& turn, Run* run, Member* member, bool holds);
  // The node's worker served the attempt's rendezvous store. It died at least `ago` before now, and
  // the store with it.
  void StoreLost(Turn& turn, Run* run, Member* member, absl::Duration ago);
  // The node has ended the attempt's ranks by itself, or lost them, because of `why` if that is
  // set. It may still have some.
  void Halted(Turn& turn, Run* run, Member* member, const std::optional<Cause>& why);
  // Stops the attempt if any of its ranks have failed. If these failures may be consequences
  // (MayBeConsequences), the other ranks first have kWordOfPeer, counted from the first failure, to
  // end by themselves. The reason is that a rank that closes its connections before it ends is
  // heard after the peers that complain about it.
  void StopForFailures(Turn& turn, Run* run);
  // The node's worker is back on the same boot, and does not know the attempt. That does not prove
  // that nothing of it runs there. So the devices stay taken until the fence, whatever the worker
  // says about an attempt that it does not know.
  void Disowned(Turn& turn, Run* run, Member* member);
  // The node is gone, unexpectedly (kNodeLost) or not (kReclaimed). Its ranks may still run there
  // until its fence.
  void NodeGone(Turn& turn, Node* node, AttemptOutcome outcome, const std::string& why);

  // The node's PC seems to go down because of `why`. It sends SIGTERM to all of its processes, and
  // ranks may have answered before that was heard.
  void GoesDown(Turn& turn, Node* node, const Cause& why);

  // The node `by` was told to recall the ranks of `lost`, and found that none is left there.
  void Recalled(Turn& turn, Run* run, Member* lost, const std::string& by);

  // ---- time
  // The present phase of the attempt has taken too long.
  void PhaseOver(Turn& turn, Run* run);
  // The ranks of a lost node may have ended by now.
  void FencePassed(Turn& turn, Run* run);
  // The attempt need not wait any longer for what may explain its failures.
  void WordOver(Turn& turn, Run* run);
  // The clock of a node has just been compared with ours, so what it has told can be dated better.
  void ClockCompared(Now now);
  // Sets the timer of the attempt's present phase.
  void Watch(Run* run);

 private:
  void BeginStop(Turn& turn, Run* run, absl::Duration grace);
  // The node holds nothing of the attempt any more. `why` is the cause of that, if one is known.
  void TakeReturn(Turn& turn, Run* run, Member* member, const std::optional<Cause>& why);
  // Nodes of a stopping attempt that are still preparing have none of its ranks, whatever delays
  // them. Gives them back without waiting for them.
  void LeaveUnstarted(Turn& turn, Run* run);
  // Leaves a stopping attempt no more than `grace` from now.
  void Hasten(Turn& turn, Run* run, absl::Duration grace);
  // Ends the attempt, and returns true, if every node has returned its devices and the verdict is
  // final.
  bool FinishIfReturned(Turn& turn, Run* run);
  void Finish(Turn& turn, Run* run);
  // Every rank has exited 0. If devices do not come back now, something that was left behind holds
  // them.
  void WatchLinger(Turn& turn, Run* run);

  State* state_;
  RunLedger* ledger_;
  Verdicts verdicts_;
  LostNodes lost_nodes_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_GANGS_H_
