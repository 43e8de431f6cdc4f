// The options of hpc-node-simulator.
#ifndef HPC_BENCH_SIMULATOR_OPTIONS_H_
#define HPC_BENCH_SIMULATOR_OPTIONS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/net/endpoint.h"

namespace hpc::simulator {

struct Options {
  int nodes = 1000;
  std::vector<Endpoint> coordinators;  // the nodes take turns; none: each uses where it joined
  bool insecure = false;
  int connections = 0;  // how many the nodes share; 0: each has its own
  std::string state_dir;
  std::vector<std::string> tokens;
  int gpus = 1;
  absl::Duration run_time = absl::Seconds(1);
  absl::Duration within = absl::Seconds(10);
  int threads = 1;
};

// InvalidArgument says what was meant. Cancelled: help was asked for, and the message is the help.
absl::StatusOr<Options> ParseOptions(int argc, const char* const* argv);

}  // namespace hpc::simulator

#endif  // HPC_BENCH_SIMULATOR_OPTIONS_H_
