// The environment and arguments of each rank. Pure.
//
// Ranks that run as the worker's own account inherit its environment. Ranks of another account
// begin as a login does, since the rest of the worker's environment may be somebody else's. They
// get the worker's search path, language and time zone, their account's HOME, USER, LOGNAME and
// SHELL, and what the worker's configuration names.
//
// There are three kinds of variables, so that what a user sets always wins:
//   the user's       (--env) are taken as they are
//   the launcher's   (RANK, MASTER_ADDR, HPC_RUN_ID ...) replace what the worker itself was started
//                    with, whatever family of launcher that came from
//   defaults         (NCCL_DEBUG, OMP_NUM_THREADS, GLOO_SOCKET_IFNAME ...) are added only where
//                    neither the user nor what is inherited has a value
#ifndef HPC_WORKER_CORE_RANK_ENVIRONMENT_H_
#define HPC_WORKER_CORE_RANK_ENVIRONMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protocol/coordinator_message.h"

namespace hpc::worker {

// The account that ranks run as if it is not the worker's.
struct RankAccount {
  std::string name;
  std::string home;
  std::string shell;
};

// What a rank's environment needs to know of this PC.
struct LocalFacts {
  std::string node;
  std::string interface;      // the interface through which peers are reached, "eth0"; "": unknown
  std::string address;        // this node's address, as its peers know it
  bool has_rdma = false;      // there is an InfiniBand or RoCE device
  bool has_gpus = false;      // the node has GPUs, whether or not this attempt has them
  bool has_amd_gpu = false;   // the node has a GPU of AMD's, which does not count among those
  std::vector<int32_t> gpus;  // the GPUs that this attempt has, in PCI bus order
  std::string hpc_py_dir;     // folder of hpc.py; "": not there
  std::string attempt_dir;    // the folder with the rank's files
  std::string run_dir;        // a folder that lasts over all attempts of the run
  std::vector<std::string> own_env;  // "KEY=VALUE", the worker's own
  // Which of the worker's own variables ranks of another account also inherit: names, or beginnings
  // followed by a "*".
  std::vector<std::string> rank_env;
  std::optional<RankAccount> account;
  // HOME in place of one that is not there, or that the ranks may not write to; "": it is good.
  std::string home;
};

struct RankProgram {
  int32_t rank = 0;
  int32_t local_rank = 0;
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "KEY=VALUE"
};

struct RankPrograms {
  std::vector<RankProgram> ranks;
  protocol::KeyValues added;  // variables that were added to the worker's own and the user's;
                              // values that differ between ranks are joined by commas
};

RankPrograms MakeRankPrograms(const protocol::Prepare& prepare, const LocalFacts& facts);

// The variables that are known only when every node is prepared, without those that the user sets.
protocol::KeyValues MakeStartEnvironment(const protocol::Prepare& prepare,
                                         const protocol::Start& start);

// Files in an attempt's folder, as worker/supervisor/protocol/spec.h names them.
std::string MetricsFile(const std::string& attempt_dir, int32_t rank);
std::string ErrorFile(const std::string& attempt_dir, int32_t rank);
std::string OutputFile(const std::string& attempt_dir, int32_t rank, bool is_stderr);
std::string ParamsFile(const std::string& attempt_dir);
std::string HomeDir(const std::string& attempt_dir);

// The folder in which ranks keep the files to resume from, unless the user names one.
std::string CheckpointDir(const std::string& run_dir);

// The value of `key` in a list of "KEY=VALUE"; "" if it is not there.
std::string GetVariable(const std::vector<std::string>& env, absl::string_view key);

}  // namespace hpc::worker

#endif  // HPC_WORKER_CORE_RANK_ENVIRONMENT_H_
