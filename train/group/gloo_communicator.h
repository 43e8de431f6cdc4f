// The communicator for CPU tensors, over c10d's ProcessGroupGloo.
#ifndef HPC_TRAIN_GROUP_GLOO_COMMUNICATOR_H_
#define HPC_TRAIN_GROUP_GLOO_COMMUNICATOR_H_

#include <c10/core/DeviceType.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/group/communicator.h"
#include "train/group/watched_group.h"
#include "train/net/launch_environment.h"

namespace hpc::train {

struct GlooOptions {
  // One word. It differs between the groups of a run, and is the same on all ranks of a group.
  std::string group = "main";
  // The deadline of operations that name none. It must be longer than the longest time that one
  // rank is busy while the others wait for it, as rank 0 is while it evaluates.
  std::chrono::milliseconds deadline = std::chrono::minutes(10);
  // How long all ranks have to come.
  std::chrono::milliseconds join_deadline = std::chrono::minutes(5);
  // Is asked while the ranks come. It returns the ranks that have ended since, which are not waited
  // for; a group before this one may know them (Communicator::Gone).
  std::function<std::vector<int>()> gone = [] { return std::vector<int>(); };
  // How many operations may be under way at the same time.
  int threads = 2;
};

// Returns when all ranks are connected. The other ranks reach this one at the address of
// GLOO_SOCKET_IFNAME, or at the one from which this PC reaches MASTER_ADDR. Makes two threads,
// besides those of Gloo. A world of one rank gets a LoneCommunicator.
//
// Types: float, double, half, bfloat16, int8 to int64, uint8; bool too in AllGather and Broadcast.
// Throws std::runtime_error that names the ranks which did not come, and CollectiveError.
std::shared_ptr<Communicator> MakeGlooCommunicator(const LaunchEnvironment& environment,
                                                   const GlooOptions& options = {});

// Does the same for two ranks or more. It is for a second communicator that shares the group. The
// ranks compare `device`, that of their model; where they differ, all throw the same
// std::runtime_error.
struct WatchedGloo {
  std::shared_ptr<WatchedGroup> group;
  std::shared_ptr<Communicator> communicator;
};
WatchedGloo ConnectGloo(const LaunchEnvironment& environment, const GlooOptions& options,
                        at::DeviceType device);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_GLOO_COMMUNICATOR_H_
