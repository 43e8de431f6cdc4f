// Ranks of one attempt are connected to each other. When one closes its connections, the others may
// fail because of that, before anybody has told them to end.
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
  // The ranks of this supervisor have met the attempt's other ranks.
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
