// Ranks of one attempt are connected with each other: when one closes its connections, the others
// may fail because of it, before anybody has told them to end.
#ifndef HPC_TESTS_SIM_MACHINES_BONDS_H_
#define HPC_TESTS_SIM_MACHINES_BONDS_H_

#include <map>
#include <memory>
#include <vector>

#include "common/ids.h"

namespace hpc::sim {

class Supervisor;

class Bonds {
 public:
  // The ranks of this supervisor have met those of the attempt's others.
  void Join(AttemptRef ref, const std::weak_ptr<Supervisor>& supervisor) {
    gangs_[ref].push_back(supervisor);
  }
  // A rank of the attempt has closed its connections.
  void Closed(AttemptRef ref);

 private:
  std::map<AttemptRef, std::vector<std::weak_ptr<Supervisor>>> gangs_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_MACHINES_BONDS_H_
