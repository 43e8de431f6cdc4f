// What a simulation is made of: all of it is drawn from the seed, and any of it can be set instead.
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
  int gpus = 2;                              // of each; 0: CPU slots
  absl::Duration length = absl::Minutes(2);  // then everything heals
  // How often something happens in a minute, by name: see kRates in options.cc.
  std::map<std::string, double> per_minute;
  coordinator::ClusterOptions cluster;
  Bug bug = Bug::kNone;

  double Rate(const std::string& name) const;
};

Options DrawOptions(uint64_t seed);

// "nodes" = "4", "length" = "2m", "power-loss" = "0.5" (a minute) ... InvalidArgument: says what
// there is.
absl::Status SetOption(const std::string& name, const std::string& value, Options* options);

// A scenario file: lines of "name value", "#" comments; "seed" is drawn from first.
absl::StatusOr<Options> ParseScenario(const std::string& text);
// The other way round.
std::string ScenarioText(const Options& options);

}  // namespace hpc::sim

#endif  // HPC_TESTS_SIM_FRAME_OPTIONS_H_
