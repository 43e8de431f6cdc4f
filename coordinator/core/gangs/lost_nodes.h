// When ranks on nodes that are not heard any more have ended: by a deadline of their own
// (policy/fence.h), or because another node of the gang ends them (recall). After Pass and
// Recalled, which may give devices back, the caller looks whether the attempt is over.
#ifndef HPC_COORDINATOR_CORE_GANGS_LOST_NODES_H_
#define HPC_COORDINATOR_CORE_GANGS_LOST_NODES_H_

#include <string>

#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"

namespace hpc::coordinator {

class LostNodes {
 public:
  explicit LostNodes(State* state) : state_(state) {}

  // Computes when the ranks of each lost node have ended, and sets the alarm for it.
  void Arm(Run* run);
  // Gives back the devices of the nodes whose ranks have ended by now.
  void Pass(Turn& turn, Run* run);

  // ---- recall
  // Asks another node of the gang to end what is left on the node of `lost`: the next one after the
  // node that was asked before.
  void AskForRecall(Turn& turn, const Run& run, Member* lost, absl::Duration grace);
  // The node `by` was told to recall the ranks of `lost`, and found that none is left there. Gives
  // the node's devices back.
  void Recalled(Turn& turn, Run* run, Member* lost, const std::string& by);
  // The node `by` could not recall them: another node of the gang tries.
  void NotRecalled(Turn& turn, Run* run, Member* lost, const std::string& by);

  // ---- silence
  // The attempt is a witnessed one. From now on, silence of its nodes is watched.
  void WatchSilence(const Attempt& attempt);
  // The node has been silent for so long that it may be time to doubt that it is there.
  void LookAtSilence(Turn& turn, Node* node);
  // Asks the other nodes of the node's witnessed attempts not to vouch for them for a while.
  void Doubt(Turn& turn, Node* node);
  // The member has promised not to vouch. The length of the promise is counted from `asked`, when
  // it was asked for it.
  void Doubted(Turn& turn, Run* run, Member* member, MonoTime asked);
  // Forgets the node's promises: its worker may be another process than the one that gave them.
  void ForgetPromises(const Node& node);

 private:
  MonoTime HeardOf(const Member& member) const;

  State* state_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_GANGS_LOST_NODES_H_
