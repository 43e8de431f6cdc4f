// Tells which rank of its run this process is, as torchrun and hpcctl say it in the environment.
#ifndef HPC_TRAIN_NET_LAUNCH_ENVIRONMENT_H_
#define HPC_TRAIN_NET_LAUNCH_ENVIRONMENT_H_

#include <functional>
#include <string>
#include <vector>

namespace hpc::train {

struct LaunchEnvironment {
  int rank = 0;
  int world_size = 1;
  std::string master_addr;  // empty if the run is this process alone
  int master_port = 0;
  // TORCHELASTIC_USE_AGENT_STORE=True: the launcher serves the store, and every rank is its client.
  // Otherwise rank 0 serves it.
  bool store_is_served = false;
  // TORCHELASTIC_RESTART_COUNT: how many attempts of the run came before this one. It is the same
  // on all ranks.
  int restart_count = 0;
  int local_rank = 0;  // LOCAL_RANK: its number among the ranks of its PC; 0 if not set
  // A word of this start of the ranks, the same on all (StartWord). With it they tell their own
  // entries in a store from those of an earlier run. Empty: no earlier run had this store.
  std::string start;
  // In a group of ranks that are left: by rank, the number that the launcher gave it. Errors name a
  // rank by it, for the user who started it. Empty: the number is the rank itself.
  std::vector<int> numbers;

  int NumberOf(int of_rank) const { return numbers.empty() ? of_rank : numbers[of_rank]; }
  int number() const { return NumberOf(rank); }
};

// Returns the value of a variable, or nullptr.
using GetVariable = std::function<const char*(const char* name)>;

// Reads RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and the three above. Where neither RANK nor
// WORLD_SIZE is set, or the world is one rank, nothing else is needed. Throws std::invalid_argument
// that names the variable, its value and what it may be.
LaunchEnvironment ReadLaunchEnvironment(const GetVariable& get);
LaunchEnvironment ReadLaunchEnvironment();  // reads the environment of this process

// Returns the environment of the group that is left when ranks `missing`
// (CollectiveError::missing()) are gone. The others keep their order, and each keeps the number
// that it had. It is for MakeGlooCommunicator, under another group name, on each rank that is left.
// Throws std::invalid_argument where no group can be made: nobody is missing, this rank is missing,
// or rank 0 is missing and served the store.
LaunchEnvironment WithoutRanks(const LaunchEnvironment& environment,
                               const std::vector<int>& missing);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NET_LAUNCH_ENVIRONMENT_H_
