// What hpc-worker is asked to do.
#ifndef HPC_WORKER_COMMAND_LINE_H_
#define HPC_WORKER_COMMAND_LINE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/net/endpoint.h"
#include "common/process/log.h"

namespace hpc::worker {

struct CommandLine {
  enum class Command { kDaemon, kJoin, kReclaim, kLend, kStatus };
  Command command = Command::kDaemon;
  std::string state_dir;
  bool usual_state_dir = false;  // no state directory was named

  // ---- the daemon
  std::optional<Endpoint> coordinator;  // unset: the one that the membership names
  std::string name;                     // the node's name; "": the membership's, else the host's
  std::string address;                  // "": the source address towards the coordinator
  int cpu_slots = 1;
  bool insecure = false;
  int ready_fd = -1;
  std::string power_command;  // "": logind's suspend
  bool wake_hook_known = false;
  std::vector<std::string> owners;  // users of the cluster who may reclaim and lend the PC
  bool stop_ranks_on_exit = false;
  int keep_run_dirs = 30;  // days; 0: for ever
  int keep_warm = 5;       // minutes; 0: no process waits
  bool no_reuse = false;   // of anything between attempts
  std::string supervisor;
  std::string hpc_py_dir;
  std::map<std::string, std::string> accounts;  // user, or "*", to the account of that user's ranks
  std::vector<std::string> setuid_programs;     // accounts whose ranks may gain privileges by these
  std::vector<std::string> rank_env;  // variables that ranks of other accounts inherit; also NCCL_*
  LogLevel log_level = LogLevel::kInfo;

  // ---- join; uses `name`, too
  std::string token;
  bool replace = false;  // any membership that is there

  // ---- the owner's commands
  std::vector<std::string> more_state_dirs;   // where they look for a worker next
  std::optional<absl::Duration> reclaim_for;  // unset: until lent
  std::optional<absl::Duration> grace;
  std::string reason;
  bool json = false;
};

// `state_dirs` has the default state directory, and then the directories in which the owner's
// commands look, too. InvalidArgument: the error says what was meant or what to do. Cancelled: help
// or version was asked for, and is the message.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                             const std::vector<std::string>& state_dirs);

}  // namespace hpc::worker

#endif  // HPC_WORKER_COMMAND_LINE_H_
