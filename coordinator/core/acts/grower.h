// Starts running gangs again on more nodes if growth.h finds it worthwhile.
#ifndef HPC_COORDINATOR_CORE_ACTS_GROWER_H_
#define HPC_COORDINATOR_CORE_ACTS_GROWER_H_

#include <optional>

#include "coordinator/core/acts/scheduler.h"
#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/policy/growth.h"
#include "coordinator/core/policy/node_choice.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"

namespace hpc::coordinator {

class Grower {
 public:
  Grower(State* state, Gangs* gangs, const Scheduler* scheduler)
      : state_(state), gangs_(gangs), scheduler_(scheduler) {}

  // Looks at every gang that may have more nodes: there may be nodes for it now.
  void LookAtAll(Turn& turn);
  // Looks at this run. `at_checkpoint`: it has just saved what it would lose by a restart.
  void LookAt(Turn& turn, Run* run, bool at_checkpoint);

 private:
  // The gang that the run would get if it were started again, without new nodes that `waiting`
  // could use; null: nobody waits. Nothing if that gang is not larger.
  std::optional<Fit> Larger(Turn& turn, const Run& run, const Run* waiting,
                            std::vector<Node*>* nodes) const;
  // The same on nodes that are steady at `by`.
  std::optional<Fit> LargerBy(Turn& turn, const Run& run, const Run* waiting, MonoTime by,
                              std::vector<Node*>* nodes) const;
  // When the node will have been there for long enough, if it stays.
  MonoTime StayedAt(const Node& node) const;
  // The same, and free for long enough.
  MonoTime SteadyAt(const Node& node) const;
  void Grow(Turn& turn, Run* run, const Fit& fit, const std::vector<Node*>& nodes,
            const std::string& why);

  State* state_;
  Gangs* gangs_;
  const Scheduler* scheduler_;
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_GROWER_H_
