// The gang check: what these PCs, the network between them and this LibTorch can do together.
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
  int64_t largest_mib = 64;                // of the all-reduces
  std::chrono::milliseconds measure{300};  // each figure for so long at least
  at::Device device = at::kCPU;            // that is measured: the group's
  // Is told what is done next, a line for each stage: "measuring ...".
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

// What a rank says of itself.
struct RankSelf {
  std::string host;     // what its PC is called in the result
  std::string address;  // an IP literal of this PC, where the other ranks reach it
};

// All ranks of the group call it, with the same options, and get the same result. A link that
// cannot be measured is in the result; else throws as the group's operations: then `gang` has what
// was measured until then, of links those that this rank measured itself. Some seconds for each
// size of an all-reduce and each round of pairs.
void CheckGang(const std::shared_ptr<Communicator>& group, const RankSelf& self,
               const GangCheckOptions& options, GangResult* gang);

}  // namespace hpc::train

#endif  // HPC_TRAIN_CHECK_GANG_CHECK_H_
