// The gang check: measures what these PCs, the network between them and this LibTorch can do
// together.
#ifndef HPC_TRAIN_CHECK_GANG_CHECK_H_
#define HPC_TRAIN_CHECK_GANG_CHECK_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "train/check/findings.h"
#include "train/group/communicator.h"

namespace hpc::train {

struct GangCheckOptions {
  int64_t largest_mib = 64;                // the size of the largest all-reduce
  std::chrono::milliseconds measure{300};  // the least time for each figure
  at::Device device = at::kCPU;            // measured here; it is the group's
  // Is called before each stage with a line that says what comes next: "measuring ...".
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

// The words of a rank about itself.
struct RankSelf {
  std::string host;     // the name of its PC in the result
  std::string address;  // an IP literal of this PC, where the other ranks reach it
};

// All ranks of the group must call it, with the same options, and get the same result. A link that
// cannot be measured is noted in the result. Any other failure is thrown as the group's operations
// throw it; `gang` then has what was measured until then, and of links only those that this rank
// measured itself. It takes some seconds for each size of an all-reduce and each round of pairs.
void CheckGang(const std::shared_ptr<Communicator>& group, const RankSelf& self,
               const GangCheckOptions& options, GangResult* gang);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_GANG_CHECK_H_
