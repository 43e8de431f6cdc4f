#include "train/launch_environment.h"

#include <cstdlib>
#include <limits>
#include <stdexcept>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace hpc::train {
namespace {

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

}  // namespace hpc::train
