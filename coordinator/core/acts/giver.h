// Lets elastic gangs give nodes to a waiting run of higher priority, if giving.h finds some.
//
// A gang gives as it grows (--grow): at a checkpoint, at once, or never. It is started again at
// once on the nodes that it keeps.
#ifndef HPC_COORDINATOR_CORE_ACTS_GIVER_H_
#define HPC_COORDINATOR_CORE_ACTS_GIVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/core/gangs/gangs.h"
#include "coordinator/core/policy/giving.h"
#include "coordinator/core/state/state.h"
#include "coordinator/core/state/turn.h"

namespace hpc::coordinator {

// What the run's attempt is to give, and when; "": nothing.
std::string GivingWords(const Run& run);

class Giver {
 public:
  Giver(State* state, Gangs* gangs) : state_(state), gangs_(gangs) {}

  // Looks who gives what to the first runs of the queue.
  void LookAtAll(Turn& turn) { Look(turn, nullptr); }
  // The same. `saved` has just saved what it would lose by a restart.
  void AtCheckpoint(Turn& turn, const Run* saved) { Look(turn, saved); }
  // Whether the run is among those to which anything is given.
  bool IsNear(const Run& run) const;

 private:
  static constexpr int32_t kWaitingLookedAt = 16;

  void Look(Turn& turn, const Run* saved);
  // Gangs that may give something. The one with the lowest priority is first, and of several the
  // youngest.
  std::vector<Run*> Elastic() const;
  // Finds the first waiting run that can start with what such gangs give, and returns those.
  std::vector<Run*> Plan(Turn& turn, const std::vector<Run*>& gangs);
  // Notes for each of the gangs what it is to give.
  std::vector<Run*> Note(Turn& turn, const Run& waiting, const std::vector<Gift>& gifts,
                         const std::vector<Node*>& nodes);
  void Give(Turn& turn, Run* run);

  State* state_;
  Gangs* gangs_;
  std::vector<RunId> givers_;  // gangs that are to give something; some may be over
};

}  // namespace hpc::coordinator

#endif  // HPC_COORDINATOR_CORE_ACTS_GIVER_H_
