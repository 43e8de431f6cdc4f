#include "client/cli/input/run_options.h"

#include <limits>

namespace hpc::client {
namespace {

void DeclarePlacement(Options* options, RunOptions* run) {
  options->Group("Where it runs");
  options->Text("-N,--nodes", "N|MIN:MAX", &run->nodes,
                "how many nodes, or the fewest and the most (default 1)");
  options->Choice("--grow", &run->grow, GrowWords(),
                  "when a gang that has fewer than MAX is started again on more nodes: when it has "
                  "saved a checkpoint (default), never, or as soon as they stay");
  options->Integer("--ranks-per-node", "R", &run->ranks_per_node, 1, kMaxCount,
                   "processes on each node (default: one for each of its GPUs)");
  options->Integer("--gpus-per-node", "G", &run->gpus_per_node, 0, kMaxCount,
                   "GPUs of each node (default: all; 0: none, a CPU slot)");
  options->List("--nodelist", "A,B", &run->node_list, "only these nodes");
  options->List("--exclude", "C,D", &run->exclude, "never these nodes");
}

void DeclareScheduling(Options* options, RunOptions* run) {
  options->Group("When it runs, and for how long");
  options->Integer("--priority", "P", &run->priority, -kMaxPriority, kMaxPriority,
                   "larger goes first, -1000 to 1000 (default 0)");
  options->Integer("--after", "RUN", &run->after, 1, std::numeric_limits<int64_t>::max(),
                   "start only after this run's success");
  options->Duration("--time-limit", "2h", &run->time_limit,
                    "end it so long after its start; each attempt has all of it");
  options->Integer("--max-restarts", "K", &run->max_restarts, 0, kMaxCount,
                   "start it again after so many failures (default 0)");
  options->Texts("--retry-exit", "CODE", &run->retry_exits,
                 "start it again after this exit code, at no cost; as 75; repeatable");
  options->Duration("--stop-grace", "30s", &run->stop_grace,
                    "from asking it to end to ending it (default 30s)");
}

void DeclareProgram(Options* options, RunOptions* run) {
  options->Group("What the program gets");
  options->Choice("--mode", &run->mode, ModeWords(),
                  "variables as torchrun gives them, or one process a node");
  options->Choice("--store", &run->store, StoreWords(),
                  "who serves the rendezvous store (default auto)");
  options->OptionalChoice("--legacy-local-rank", &run->legacy_local_rank, LegacyLocalRankWords(),
                          "also give --local-rank=N, or --local_rank=N, as an argument");
  options->Texts("--env", "K=V|K", &run->env, "set a variable, or copy the one here; repeatable");
  options->Texts("--env-secret", "K", &run->env_secret,
                 "copy a variable from here without storing it anywhere; repeatable");
  options->Flag("--env-all", &run->env_all, "copy all variables of this shell");
  options->Text("--workdir", "DIR", &run->workdir,
                "where to run, on every node (default: this directory)");
}

}  // namespace

const std::vector<std::string>& ModeWords() {
  static const auto* words = new std::vector<std::string>{"torchrun", "per-node"};
  return *words;
}

const std::vector<std::string>& StoreWords() {
  static const auto* words = new std::vector<std::string>{"auto", "worker", "rank0"};
  return *words;
}

const std::vector<std::string>& GrowWords() {
  static const auto* words = new std::vector<std::string>{"checkpoint", "never", "now"};
  return *words;
}

const std::vector<std::string>& LegacyLocalRankWords() {
  static const auto* words = new std::vector<std::string>{"dash", "underscore"};
  return *words;
}

void DeclareRunOptions(Options* options, RunOptions* run) {
  DeclarePlacement(options, run);
  DeclareScheduling(options, run);
  DeclareProgram(options, run);
  options->Group("How it is found again");
  options->Text("--name", "X", &run->name,
                "of the run (default: the program's file name, or its script's)");
  options->Text("--experiment", "E", &run->experiment, "the set of runs it belongs to");
  options->Texts("--param", "K=V", &run->params, "a parameter to compare runs by; repeatable");
  options->Texts("--tag", "T", &run->tags, "a tag to find it by; repeatable");
}

}  // namespace hpc::client
