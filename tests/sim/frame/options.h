// The options of a simulation. All of them are drawn from the seed, and any can be set instead.
#ifndef HPC_TESTS_SIM_FRAME_OPTIONS_H_
#define HPC_TESTS_SIM_FRAME_OPTIONS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/values/cluster_options.h"
#include "tests/sim/frame/planted_bug.h"

namespace hpc::sim {

struct Options {
  uint64_t seed = 1;
  int nodes = 4;
  int gpus = 2;                              // of each node; 0: CPU slots
  absl::Duration length = absl::Minutes(2);  // after this everything heals
  // How often a thing happens in a minute, by name: see kRates in options.cc.
  std::map<std::string, double> per_minute;
  coordinator::ClusterOptions cluster;
  Bug bug = Bug::kNone;

  double Rate(const std::string& name) const;
};

Options DrawOptions(uint64_t seed);

// Sets one option: "nodes" = "4", "length" = "2m", "power-loss" = "0.5" (a minute) ...
// InvalidArgument says which options there are.
absl::Status SetOption(const std::string& name, const std::string& value, Options* options);

// Reads a scenario file: lines of "name value", and "#" comments. First all is drawn from its
// "seed".
absl::StatusOr<Options> ParseScenario(const std::string& text);
// The reverse: the text of a scenario file with these options.
std::string ScenarioText(const Options& options);

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_FRAME_OPTIONS_H_
