// Who this process is among the ranks of its run, as torchrun and hpcctl say it in the environment.
#ifndef HPC_TRAIN_NET_LAUNCH_ENVIRONMENT_H_
#define HPC_TRAIN_NET_LAUNCH_ENVIRONMENT_H_

#include <functional>
#include <string>
#include <vector>

namespace hpc::train {

struct LaunchEnvironment {
  int rank = 0;
  int world_size = 1;
  std::string master_addr;  // empty where the run is this process alone
  int master_port = 0;
  // TORCHELASTIC_USE_AGENT_STORE=True: the launcher serves the store, every rank is its client.
  // Else rank 0 serves it.
  bool store_is_served = false;
  // TORCHELASTIC_RESTART_COUNT: attempts of the run before this one. The same on all ranks.
  int restart_count = 0;
  int local_rank = 0;  // LOCAL_RANK: which of its PC's ranks; 0 where it is not set
  // A word of this start of the ranks, the same on all, by which they tell what they say in a store
  // from what an earlier run has left there: StartWord. Empty: no earlier run had this store.
  std::string start;
  // By rank of a group of those that are left: the number that the launcher gave it, by which
  // errors name it for who started it. Empty: the rank itself.
  std::vector<int> numbers;

  int NumberOf(int of_rank) const { return numbers.empty() ? of_rank : numbers[of_rank]; }
  int number() const { return NumberOf(rank); }
};

// The value of a variable, or nullptr.
using GetVariable = std::function<const char*(const char* name)>;

// Reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and the three above. Where neither RANK nor
// WORLD_SIZE is set, or the world is one rank, nothing else is needed. Throws std::invalid_argument
// that names the variable, its value and what it may be.
LaunchEnvironment ReadLaunchEnvironment(const GetVariable& get);
LaunchEnvironment ReadLaunchEnvironment();  // of this process

// Of the group of those that are left when ranks `missing` (CollectiveError::missing()) are gone,
// the others in their order, each with the number that it had: for MakeGlooCommunicator, under
// another group name, on each of them.
// Throws std::invalid_argument where no group can be made: nobody is missing, this rank is, or rank
// 0 is and served the store.
LaunchEnvironment WithoutRanks(const LaunchEnvironment& environment,
                               const std::vector<int>& missing);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NET_LAUNCH_ENVIRONMENT_H_
