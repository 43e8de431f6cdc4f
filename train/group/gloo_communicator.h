// The communicator of CPU tensors, over c10d's ProcessGroupGloo.
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
  // One word. The groups of a run have different ones, the ranks of a group the same.
  std::string group = "main";
  // Of operations that say none. Longer than the longest time that one rank may be busy while the
  // others wait for it, as rank 0 is while it evaluates.
  std::chrono::milliseconds deadline = std::chrono::minutes(10);
  // For all ranks to come.
  std::chrono::milliseconds join_deadline = std::chrono::minutes(5);
  // Asked while they come: who has ended since, and is not waited for, as the ranks of a group
  // before this one know it (Communicator::Gone).
  std::function<std::vector<int>()> gone = [] { return std::vector<int>(); };
  // Operations that are under way at the same time.
  int threads = 2;
};

// Returns when all ranks are connected. The address that others reach this rank at is that of
// GLOO_SOCKET_IFNAME, or the one from which this PC reaches MASTER_ADDR. Makes two threads, and
// those of Gloo. A world of one rank gets a LoneCommunicator.
//
// Types: float, double, half, bfloat16, int8 to int64, uint8; bool too in AllGather and Broadcast.
// Throws std::runtime_error that names the ranks which did not come, and CollectiveError.
std::shared_ptr<Communicator> MakeGlooCommunicator(const LaunchEnvironment& environment,
                                                   const GlooOptions& options = {});

// The same for two ranks or more, for a communicator beside it that shares its group. The ranks
// compare `device`, that of their model: where they differ all throw the same std::runtime_error.
struct WatchedGloo {
  std::shared_ptr<WatchedGroup> group;
  std::shared_ptr<Communicator> communicator;
};
WatchedGloo ConnectGloo(const LaunchEnvironment& environment, const GlooOptions& options,
                        at::DeviceType device);

}  // namespace hpc::train

#endif  // HPC_TRAIN_GROUP_GLOO_COMMUNICATOR_H_
