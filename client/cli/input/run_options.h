// The wishes of a user, as typed: options of `hpcctl run`, or a line of `hpcctl submit`. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_RUN_OPTIONS_H_
#define HPC_CLIENT_CLI_INPUT_RUN_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/cli/input/options.h"

namespace hpc::client {

// All values are as typed. Empty or unset means the default.
struct RunOptions {
  std::string nodes = "1";  // "4" or "2:4"
  int32_t ranks_per_node = 0;
  std::optional<int32_t> gpus_per_node;
  std::vector<std::string> node_list, exclude;
  std::string mode, store, legacy_local_rank, grow;
  std::string name, experiment;
  std::vector<std::string> params;  // "key=value"
  std::vector<std::string> tags;
  std::vector<std::string> env;         // "KEY=VALUE", or "KEY" to copy the caller's
  std::vector<std::string> env_secret;  // "KEY": copies the caller's and does not store it
  bool env_all = false;
  int32_t priority = 0;
  int64_t after = 0;
  std::optional<absl::Duration> time_limit, stop_grace;
  int32_t max_restarts = 0;
  std::vector<std::string> retry_exits;  // whole numbers
  std::string workdir;
  std::vector<std::string> command;
};

// These are the values that options with a fixed set of words may take.
const std::vector<std::string>& ModeWords();
const std::vector<std::string>& StoreWords();
const std::vector<std::string>& GrowWords();
const std::vector<std::string>& LegacyLocalRankWords();
inline constexpr int32_t kMaxPriority = 1000;
inline constexpr int32_t kMaxCount = 1'000'000;

// Declares all of the above as options of a command line.
void DeclareRunOptions(Options* options, RunOptions* run);

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_RUN_OPTIONS_H_
