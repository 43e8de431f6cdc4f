// What hpc-sim was asked to do.
#ifndef HPC_TESTS_SIM_ARGUMENTS_H_
#define HPC_TESTS_SIM_ARGUMENTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/sim/frame/options.h"

namespace hpc::sim {

struct Arguments {
  uint64_t first = 1, last = 1;
  std::optional<Options> scenario;
  std::vector<std::pair<std::string, std::string>> settings;  // these replace what a seed draws
  bool trace = false;
  bool every_bug = false;
  bool list_bugs = false;
  unsigned jobs = 0;  // 0: one for each core
};

extern const char kUsage[];

// InvalidArgument says what is wrong.
absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words);

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_ARGUMENTS_H_
