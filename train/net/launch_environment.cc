#include "train/net/launch_environment.h"

#include <cstdlib>
#include <limits>
#include <set>
#include <stdexcept>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace hpc::train {
namespace {

constexpr int kMostLocalRanks = 128;  // LibTorch counts devices in 8 bits

std::string Required(const GetVariable& get, const char* name) {
  const char* value = get(name);
  if (value == nullptr || *value == '\0') {
    throw std::invalid_argument(absl::StrCat(
        name, " is not set: start the ranks with hpcctl run or torchrun, or give each RANK, ",
        "WORLD_SIZE, MASTER_ADDR and MASTER_PORT"));
  }
  return value;
}

int RequiredNumber(const GetVariable& get, const char* name, int least, int most) {
  const std::string text = Required(get, name);
  int number = 0;
  if (!absl::SimpleAtoi(text, &number) || number < least || number > most) {
    throw std::invalid_argument(
        absl::StrCat(name, "='", text, "' is no number from ", least, " to ", most));
  }
  return number;
}

}  // namespace

LaunchEnvironment ReadLaunchEnvironment(const GetVariable& get) {
  LaunchEnvironment environment;
  if (get("RANK") == nullptr && get("WORLD_SIZE") == nullptr) return environment;
  constexpr int kMany = 1 << 20;
  environment.world_size = RequiredNumber(get, "WORLD_SIZE", 1, kMany);
  environment.rank = RequiredNumber(get, "RANK", 0, environment.world_size - 1);
  if (get("TORCHELASTIC_RESTART_COUNT") != nullptr) {
    environment.restart_count =
        RequiredNumber(get, "TORCHELASTIC_RESTART_COUNT", 0, std::numeric_limits<int>::max());
  }
  if (get("LOCAL_RANK") != nullptr) {
    environment.local_rank = RequiredNumber(get, "LOCAL_RANK", 0, kMostLocalRanks - 1);
  }
  if (environment.world_size == 1) return environment;
  environment.master_addr = Required(get, "MASTER_ADDR");
  environment.master_port = RequiredNumber(get, "MASTER_PORT", 1, 65535);
  const char* served = get("TORCHELASTIC_USE_AGENT_STORE");
  environment.store_is_served = served != nullptr && std::string(served) == "True";
  return environment;
}

LaunchEnvironment ReadLaunchEnvironment() {
  return ReadLaunchEnvironment([](const char* name) -> const char* { return std::getenv(name); });
}

LaunchEnvironment WithoutRanks(const LaunchEnvironment& environment,
                               const std::vector<int>& missing) {
  const std::set<int> gone(missing.begin(), missing.end());
  if (gone.empty())
    throw std::invalid_argument("no rank is known to be missing: regroup without whom?");
  if (gone.count(environment.rank) != 0) {
    throw std::invalid_argument(
        absl::StrCat("rank ", environment.number(), " is itself among those that are missing"));
  }
  if (gone.count(0) != 0 && !environment.store_is_served) {
    throw std::invalid_argument(absl::StrCat("rank ", environment.NumberOf(0),
                                             " is gone, and the rendezvous store with it"));
  }
  LaunchEnvironment left = environment;
  left.numbers.clear();
  for (int rank = 0; rank < environment.world_size; ++rank) {
    if (gone.count(rank) != 0) continue;
    if (rank == environment.rank) left.rank = static_cast<int>(left.numbers.size());
    left.numbers.push_back(environment.NumberOf(rank));
  }
  left.world_size = static_cast<int>(left.numbers.size());
  return left;
}

}  // namespace hpc::train
