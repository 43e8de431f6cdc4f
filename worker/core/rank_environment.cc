#include "worker/core/rank_environment.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace hpc::worker {
namespace {

// Variables of other launchers and of the service manager. They describe the worker, and would be
// wrong for a rank.
constexpr std::array kNeverInherited = {
    "RANK",           "LOCAL_RANK",       "GROUP_RANK",      "ROLE_RANK",
    "ROLE_NAME",      "ROLE_WORLD_SIZE",  "WORLD_SIZE",      "LOCAL_WORLD_SIZE",
    "NODE_RANK",      "GROUP_WORLD_SIZE", "MASTER_ADDR",     "MASTER_PORT",
    "NNODES",         "USE_LIBUV",        "NOTIFY_SOCKET",   "WATCHDOG_USEC",
    "WATCHDOG_PID",   "LISTEN_FDS",       "LISTEN_PID",      "LISTEN_FDNAMES",
    "JOURNAL_STREAM", "INVOCATION_ID",    "SYSTEMD_EXEC_PID"};
constexpr std::array kNeverInheritedPrefixes = {"TORCHELASTIC_",    "PET_", "SLURM_", "SLURMD_",
                                                "OMPI_COMM_WORLD_", "HPC_"};

// What a login also provides.
constexpr std::array kOfLogin = {"PATH", "LANG", "LANGUAGE", "LC_*", "TZ"};
constexpr char kLoginPath[] = "/usr/local/bin:/usr/bin:/bin";

// `pattern` is a name, or the beginning of names followed by a "*".
bool Matches(absl::string_view key, absl::string_view pattern) {
  return absl::ConsumeSuffix(&pattern, "*") ? absl::StartsWith(key, pattern) : key == pattern;
}

bool AnyMatches(absl::string_view key, const std::vector<std::string>& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return Matches(key, pattern); });
}

bool OfLogin(absl::string_view key) {
  return std::any_of(kOfLogin.begin(), kOfLogin.end(),
                     [&](const char* pattern) { return Matches(key, pattern); });
}

bool NeverInherited(absl::string_view key) {
  return std::any_of(kNeverInherited.begin(), kNeverInherited.end(),
                     [&](const char* name) { return key == name; }) ||
         std::any_of(kNeverInheritedPrefixes.begin(), kNeverInheritedPrefixes.end(),
                     [&](const char* prefix) { return absl::StartsWith(key, prefix); });
}

// One rank's variables while they are being put together.
class Variables {
 public:
  Variables(const LocalFacts& facts, const protocol::KeyValues& user) {
    for (const std::string& entry : facts.own_env) {
      const size_t equals = entry.find('=');
      if (equals == std::string::npos || equals == 0) continue;
      std::string key = entry.substr(0, equals);
      if (NeverInherited(key)) continue;
      if (facts.account && !OfLogin(key) && !AnyMatches(key, facts.rank_env)) continue;
      all_[std::move(key)] = entry.substr(equals + 1);
    }
    if (facts.account) all_.try_emplace("PATH", kLoginPath);
    for (const auto& [key, value] : user) {
      all_[key] = value;
      users_.insert(key);
    }
  }

  void Launcher(const std::string& key, const absl::AlphaNum& value) {
    if (users_.count(key) == 0) Add(key, std::string(value.Piece()));
  }
  void Default(const std::string& key, const absl::AlphaNum& value) {
    if (all_.count(key) == 0) Add(key, std::string(value.Piece()));
  }
  void Prepend(const std::string& key, const std::string& value) {
    const auto it = all_.find(key);
    Add(key, it == all_.end() || it->second.empty() ? value : value + ":" + it->second);
  }

  std::vector<std::string> ToList() const {
    std::vector<std::string> out;
    out.reserve(all_.size());
    for (const auto& [key, value] : all_) out.push_back(key + "=" + value);
    return out;
  }
  const protocol::KeyValues& added() const { return added_; }

 private:
  void Add(const std::string& key, std::string value) {
    added_.emplace_back(key, value);
    all_[key] = std::move(value);
  }

  std::map<std::string, std::string> all_;
  std::set<std::string> users_;
  protocol::KeyValues added_;
};

// The variables that torchrun gives its workers. MASTER_ADDR and the like follow with the start.
void AddTorchrun(const protocol::Prepare& prepare, int32_t local_rank, Variables* out) {
  const int32_t rank = prepare.first_rank + local_rank;
  out->Launcher("RANK", rank);
  out->Launcher("LOCAL_RANK", local_rank);
  out->Launcher("GROUP_RANK", prepare.node_rank);
  out->Launcher("ROLE_RANK", rank);
  out->Launcher("ROLE_NAME", "default");
  out->Launcher("ROLE_WORLD_SIZE", prepare.world_size);
  out->Launcher("WORLD_SIZE", prepare.world_size);
  out->Launcher("LOCAL_WORLD_SIZE", prepare.ranks);
  out->Launcher("GROUP_WORLD_SIZE", prepare.peers.size());
  out->Launcher("TORCHELASTIC_RUN_ID", prepare.ref.run);
  out->Launcher("TORCHELASTIC_RESTART_COUNT", prepare.restart_count);
  out->Launcher("TORCHELASTIC_MAX_RESTARTS", prepare.max_restarts);
  out->Default("TORCH_NCCL_ASYNC_ERROR_HANDLING", 1);
  if (prepare.ranks > 1) out->Default("OMP_NUM_THREADS", 1);
}

// The variables by which a launcher that is run as the command finds its peers: torchrun reads
// PET_*, Lightning and others read the plain names.
//
// torchrun's c10d rendezvous asks whether the name of its host is this PC's, and tells its peers
// that name. On Debian it means 127.0.1.1. So it is told who the host is, and by which address this
// PC is reached.
void AddPerNode(const protocol::Prepare& prepare, const LocalFacts& facts, Variables* out) {
  out->Launcher("NODE_RANK", prepare.node_rank);
  out->Launcher("NNODES", prepare.peers.size());
  out->Launcher("PET_NNODES", prepare.peers.size());
  out->Launcher("PET_NODE_RANK", prepare.node_rank);
  out->Launcher("PET_NPROC_PER_NODE", std::max<size_t>(1, facts.gpus.size()));
  out->Launcher("PET_LOCAL_ADDR", facts.address);
  out->Launcher("PET_RDZV_CONF", prepare.node_rank == 0 ? "is_host=1" : "is_host=0");
}

// How many tasks each node has, as Slurm writes it: "2(x3),1".
std::string TasksPerNode(const std::vector<protocol::Peer>& peers) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < peers.size();) {
    size_t same = 1;
    while (i + same < peers.size() && peers[i + same].ranks == peers[i].ranks) ++same;
    parts.push_back(same == 1 ? absl::StrCat(peers[i].ranks)
                              : absl::StrCat(peers[i].ranks, "(x", same, ")"));
    i += same;
  }
  return absl::StrJoin(parts, ",");
}

// The variables that srun gives its tasks. Programs that read them (JAX, submitit, fairseq) take a
// list of addresses for the list of nodes. Lightning ignores Slurm where the job's name is that of
// a shell.
void AddSlurm(const protocol::Prepare& prepare, const LocalFacts& facts, int32_t local_rank,
              Variables* out) {
  const auto both = [out](const char* name, const char* other, const absl::AlphaNum& value) {
    out->Launcher(name, value);
    out->Launcher(other, value);
  };
  std::vector<std::string> addresses;
  for (const protocol::Peer& peer : prepare.peers) addresses.push_back(peer.address);
  const std::string nodes = absl::StrJoin(addresses, ",");
  std::vector<std::string> here;
  for (int32_t i = 0; i < prepare.ranks; ++i) here.push_back(absl::StrCat(prepare.first_rank + i));
  const bool shell = prepare.run_name == "bash" || prepare.run_name == "interactive";
  both("SLURM_JOB_ID", "SLURM_JOBID", prepare.ref.run);
  both("SLURM_STEP_ID", "SLURM_STEPID", 0);
  out->Launcher("SLURM_JOB_NAME", shell ? "run" : prepare.run_name);
  both("SLURM_NTASKS", "SLURM_NPROCS", prepare.world_size);
  out->Launcher("SLURM_STEP_NUM_TASKS", prepare.world_size);
  out->Launcher("SLURM_NTASKS_PER_NODE", prepare.ranks);
  both("SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE", TasksPerNode(prepare.peers));
  both("SLURM_NNODES", "SLURM_JOB_NUM_NODES", prepare.peers.size());
  out->Launcher("SLURM_STEP_NUM_NODES", prepare.peers.size());
  both("SLURM_NODELIST", "SLURM_JOB_NODELIST", nodes);
  out->Launcher("SLURM_STEP_NODELIST", nodes);
  out->Launcher("SLURM_LAUNCH_NODE_IPADDR", addresses.front());
  out->Launcher("SLURM_NODEID", prepare.node_rank);
  out->Launcher("SLURM_PROCID", prepare.first_rank + local_rank);
  out->Launcher("SLURM_LOCALID", local_rank);
  out->Launcher("SLURM_GTIDS", absl::StrJoin(here, ","));
  out->Launcher("SLURMD_NODENAME", facts.node);
  out->Launcher("SLURM_SUBMIT_DIR", prepare.workdir);
  if (prepare.restart_count > 0) out->Launcher("SLURM_RESTART_COUNT", prepare.restart_count);
  if (!facts.gpus.empty()) {
    out->Launcher("SLURM_GPUS_ON_NODE", facts.gpus.size());
    both("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", absl::StrJoin(facts.gpus, ","));
  }
}

void AddFamily(const protocol::Prepare& prepare, const LocalFacts& facts, int32_t local_rank,
               Variables* out) {
  switch (prepare.mode) {
    case protocol::LaunchMode::kTorchrun:
      return AddTorchrun(prepare, local_rank, out);
    case protocol::LaunchMode::kPerNode:
      return AddPerNode(prepare, facts, out);
    case protocol::LaunchMode::kSlurm:
      return AddSlurm(prepare, facts, local_rank, out);
  }
}

void AddOurs(const protocol::Prepare& prepare, const LocalFacts& facts, int32_t rank,
             Variables* out) {
  out->Launcher("HPC_RUN_ID", prepare.ref.run);
  out->Launcher("HPC_ATTEMPT", prepare.ref.number);
  out->Launcher("HPC_RUN_NAME", prepare.run_name);
  out->Launcher("HPC_EXPERIMENT", prepare.experiment);
  out->Launcher("HPC_NODE", facts.node);
  out->Launcher("HPC_ADDRESS", facts.address);
  out->Launcher("HPC_RESTART_COUNT", prepare.restart_count);
  out->Launcher("HPC_RUN_DIR", facts.run_dir);
  out->Launcher("HPC_CHECKPOINT_DIR", CheckpointDir(facts.run_dir));
  out->Launcher("HPC_METRICS_FILE", MetricsFile(facts.attempt_dir, rank));
  if (!prepare.params.empty()) out->Launcher("HPC_PARAMS_FILE", ParamsFile(facts.attempt_dir));
  if (!facts.hpc_py_dir.empty()) out->Prepend("PYTHONPATH", facts.hpc_py_dir);
  out->Default("PYTHONUNBUFFERED", 1);
  out->Launcher("TORCHELASTIC_ERROR_FILE", ErrorFile(facts.attempt_dir, rank));
}

void AddAccount(const LocalFacts& facts, Variables* out) {
  if (!facts.home.empty()) out->Launcher("HOME", facts.home);
  if (!facts.account) return;
  if (facts.home.empty()) out->Launcher("HOME", facts.account->home);
  out->Launcher("USER", facts.account->name);
  out->Launcher("LOGNAME", facts.account->name);
  out->Launcher("SHELL", facts.account->shell);
}

void AddDevices(const LocalFacts& facts, Variables* out) {
  // Without a GPU and without this variable, Accelerate and Transformers' Trainer take each rank
  // for a training of its own, and say nothing.
  if (facts.gpus.empty() && !facts.has_amd_gpu) out->Default("ACCELERATE_USE_CPU", "true");
  if (!facts.has_gpus) return;
  out->Launcher("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
  // Each rank gets all GPUs of the node's share: programs choose theirs by LOCAL_RANK.
  out->Launcher("CUDA_VISIBLE_DEVICES", absl::StrJoin(facts.gpus, ","));
}

// Without these variables a library may choose an interface that the peers cannot reach (VPN,
// docker).
void AddNetwork(const LocalFacts& facts, Variables* out) {
  if (!facts.interface.empty()) {
    out->Default("GLOO_SOCKET_IFNAME", facts.interface);
    out->Default("TP_SOCKET_IFNAME", facts.interface);
    out->Default("NCCL_SOCKET_IFNAME", "=" + facts.interface);
  }
  const bool ipv6 = facts.address.find(':') != std::string::npos;
  out->Default("NCCL_SOCKET_FAMILY", ipv6 ? "AF_INET6" : "AF_INET");
  if (!facts.has_rdma) out->Default("NCCL_IB_DISABLE", 1);
  out->Default("NCCL_DEBUG", "WARN");
  // The port of NCCL's RAS would clash if two runs are on one PC.
  out->Default("NCCL_RAS_ENABLE", 0);
}

std::vector<std::string> Arguments(const protocol::Prepare& prepare, int32_t local_rank) {
  std::vector<std::string> argv = prepare.command;
  switch (prepare.legacy_local_rank) {
    case protocol::LegacyLocalRank::kNone:
      break;
    case protocol::LegacyLocalRank::kDash:
      argv.push_back(absl::StrCat("--local-rank=", local_rank));
      break;
    case protocol::LegacyLocalRank::kUnderscore:
      argv.push_back(absl::StrCat("--local_rank=", local_rank));
      break;
  }
  return argv;
}

void MergeAdded(const protocol::KeyValues& of_rank, bool first, protocol::KeyValues* all) {
  if (first) {
    *all = of_rank;
    return;
  }
  // Every rank of a node gets the same keys in the same order.
  for (size_t i = 0; i < all->size(); ++i) {
    const std::string& value = of_rank[i].second;
    std::string& joined = (*all)[i].second;
    if (joined != value) absl::StrAppend(&joined, ",", value);
  }
}

}  // namespace

RankPrograms MakeRankPrograms(const protocol::Prepare& prepare, const LocalFacts& facts) {
  RankPrograms out;
  for (int32_t local_rank = 0; local_rank < prepare.ranks; ++local_rank) {
    const int32_t rank = prepare.first_rank + local_rank;
    Variables variables(facts, prepare.env);
    AddAccount(facts, &variables);
    AddFamily(prepare, facts, local_rank, &variables);
    AddOurs(prepare, facts, rank, &variables);
    AddDevices(facts, &variables);
    AddNetwork(facts, &variables);
    out.ranks.push_back({rank, local_rank, Arguments(prepare, local_rank), variables.ToList()});
    MergeAdded(variables.added(), local_rank == 0, &out.added);
  }
  return out;
}

protocol::KeyValues MakeStartEnvironment(const protocol::Prepare& prepare,
                                         const protocol::Start& start) {
  protocol::KeyValues all = {{"MASTER_ADDR", start.master_addr},
                             {"MASTER_PORT", absl::StrCat(start.master_port)}};
  if (prepare.mode != protocol::LaunchMode::kPerNode) {
    const bool worker_hosts = start.store_host == protocol::StoreHost::kWorker;
    all.emplace_back("TORCHELASTIC_USE_AGENT_STORE", worker_hosts ? "True" : "False");
    // If the choice is ours, the worker hosts the store for several ranks, unless the torch of some
    // node was built without libuv. Such a torch must be told not to ask for libuv.
    if (!worker_hosts && prepare.store_host == protocol::StoreHost::kAuto && prepare.world_size > 1)
      all.emplace_back("USE_LIBUV", "0");
  } else {
    all.emplace_back("PET_MASTER_ADDR", start.master_addr);
    all.emplace_back("PET_MASTER_PORT", absl::StrCat(start.master_port));
  }
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const auto& ours) {
                             return std::any_of(
                                 prepare.env.begin(), prepare.env.end(),
                                 [&](const auto& users) { return users.first == ours.first; });
                           }),
            all.end());
  return all;
}

std::string MetricsFile(const std::string& attempt_dir, int32_t rank) {
  return absl::StrCat(attempt_dir, "/metrics-", rank, ".jsonl");
}

std::string ErrorFile(const std::string& attempt_dir, int32_t rank) {
  return absl::StrCat(attempt_dir, "/error-", rank, ".json");
}

std::string OutputFile(const std::string& attempt_dir, int32_t rank, bool is_stderr) {
  return absl::StrCat(attempt_dir, "/rank-", rank, is_stderr ? ".err" : ".out");
}

std::string ParamsFile(const std::string& attempt_dir) { return attempt_dir + "/params.json"; }

std::string HomeDir(const std::string& attempt_dir) { return attempt_dir + "/home"; }

std::string CheckpointDir(const std::string& run_dir) { return run_dir + "/checkpoints"; }

std::string GetVariable(const std::vector<std::string>& env, absl::string_view key) {
  for (const std::string& entry : env) {
    if (absl::StartsWith(entry, key) && entry.size() > key.size() && entry[key.size()] == '=') {
      return entry.substr(key.size() + 1);
    }
  }
  return "";
}

}  // namespace hpc::worker
