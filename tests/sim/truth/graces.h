// Knows how long ranks that were told to end may live, and checks that none is killed earlier. The
// coordinator, the PC's owner, its worker, another node of the gang and the rules of the supervisor
// may each decide that.
#ifndef HPC_TESTS_SIM_TRUTH_GRACES_H_
#define HPC_TESTS_SIM_TRUTH_GRACES_H_

#include <map>
#include <string>
#include <utility>

#include "common/ids.h"
#include "tests/sim/frame/context.h"

namespace hpc::sim {

class Graces {
 public:
  explicit Graces(Context* context) : context_(context) {}

  // The ranks of the attempt on the node may live for `grace` from now. The shortest time counts.
  void Gives(AttemptRef ref, const std::string& node, absl::Duration grace);
  // A rank that lives is killed there.
  void Killed(AttemptRef ref, const std::string& node, int32_t rank) const;

 private:
  Context* context_;
  std::map<std::pair<AttemptRef, std::string>, MonoTime> until_;
};

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_TRUTH_GRACES_H_
