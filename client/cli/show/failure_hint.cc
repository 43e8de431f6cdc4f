#include "client/cli/show/failure_hint.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "client/cli/input/interpreters.h"
#include "client/cli/input/launcher_check.h"

namespace hpc::client {
namespace {

// Returns the text after the last `words` in `text`, or "" if they do not occur.
absl::string_view Behind(absl::string_view text, absl::string_view words) {
  const size_t at = text.rfind(words);
  return at == absl::string_view::npos ? "" : text.substr(at + words.size());
}

// What a launcher's --nproc-per-node is here: " --ranks-per-node 2", or "" for one or none.
std::string RanksOption(const google::protobuf::RepeatedPtrField<std::string>& command) {
  for (int i = 0; i < command.size(); ++i) {
    const std::string option = absl::StrReplaceAll(command[i], {{"_", "-"}, {"=", " "}});
    int ranks = 0;
    absl::string_view value = option;
    if (!absl::ConsumePrefix(&value, "--nproc-per-node")) continue;
    if (value.empty() && i + 1 < command.size()) value = command[i + 1];
    if (absl::SimpleAtoi(value, &ranks) && ranks > 1) {
      return absl::StrCat(" --ranks-per-node ", ranks);
    }
  }
  return "";
}

// Looks for the words of Python's argparse.
std::string LocalRankHint(const v1::Run& run) {
  const absl::string_view reason = run.reason();
  const absl::string_view missing = Behind(reason, "arguments are required: ");
  const absl::string_view unknown = Behind(reason, "unrecognized arguments: ");
  const bool dash =
      absl::StrContains(missing, "--local-rank") || absl::StrContains(unknown, "--local_rank");
  const bool underscore =
      absl::StrContains(missing, "--local_rank") || absl::StrContains(unknown, "--local-rank");
  const std::string launcher = LauncherIn(run.command());
  if ((dash || underscore) && !launcher.empty()) {
    return absl::StrCat("leave ", launcher,
                        " out, which gives its ranks the other spelling: 'hpcctl run -N ",
                        std::max(1, run.min_nodes()), RanksOption(run.command()),
                        " --legacy-local-rank", dash ? "" : "=underscore", " -- python train.py'");
  }
  if (dash) {
    return "its script takes --local-rank: 'hpcctl run --legacy-local-rank' gives it that";
  }
  if (underscore) {
    return "if its script takes --local_rank: 'hpcctl run --legacy-local-rank=underscore' gives it "
           "that";
  }
  return "";
}

// Looks for the words of torch.distributed and of gloo.
std::string DistributedHint(absl::string_view reason) {
  if (absl::StrContains(reason, "environment variable RANK expected")) {
    return "torch.distributed takes its rank from RANK, which --mode per-node and --mode slurm "
           "leave to the command: without --mode each rank has it";
  }
  if (absl::StrContains(reason, "doesn't have NCCL built in")) {
    return "this torch has no NCCL, as on PCs without a GPU: let the script take gloo there, as in "
           "init_process_group('nccl' if torch.cuda.is_available() else 'gloo')";
  }
  if (absl::StrContains(reason, "rank < size")) {
    return "the script believes that there are fewer ranks than there are, as Lightning's Trainer "
           "does without num_nodes=N";
  }
  return "";
}

std::string AbortHint(absl::string_view reason) {
  const bool at_exit = absl::StrContains(reason, "SIGABRT") &&
                       absl::StrContains(reason, "terminate called without an active exception");
  if (!at_exit) return "";
  return "scripts end so when their work is done and threads of torch.distributed are left: let it "
         "end with dist.barrier() and dist.destroy_process_group()";
}

// Looks for the words of torch's rendezvous store.
std::string AddressHint(absl::string_view reason) {
  const bool unreachable =
      absl::StrContains(reason, "failed to connect to any network address of (") ||
      absl::StrContains(reason, "while trying to connect to (");
  if (!unreachable) return "";
  return "if the script itself sets that address (MASTER_ADDR, MASTER_PORT, "
         "init_method='tcp://...'), "
         "leave that out: hpcctl gives each rank the right one";
}

// Looks for the words of JAX, and of Python for a variable that is not there.
std::string SlurmHint(absl::string_view reason) {
  const bool jax = absl::StrContains(reason, "coordinator_address should be defined");
  if (!jax && !absl::StrContains(reason, "KeyError: 'SLURM_")) return "";
  return absl::StrCat(jax ? "JAX finds its peers" : "it finds its peers",
                      " by the variables that Slurm gives: 'hpcctl run --mode slurm' gives them, "
                      "too");
}

// Looks for Python's words, for an exception and for a script that it may not read.
std::string PermissionHint(absl::string_view reason) {
  const bool denied = absl::StrContains(reason, "PermissionError: [Errno 13]") ||
                      (absl::StrContains(reason, "can't open file") &&
                       absl::StrContains(reason, "Permission denied"));
  if (!denied) return "";
  return "ranks run as the account that the node's worker has for you, which 'hpcctl run -- id' "
         "shows: give it the right, or write below $HPC_RUN_DIR";
}

// Looks for the words of sudo, newuidmap and fusermount.
std::string PrivilegesHint(absl::string_view reason) {
  const bool refused =
      absl::StrContains(reason, "\"no new privileges\" flag is set") ||
      (absl::StrContains(reason, "Operation not permitted") &&
       (absl::StrContains(reason, "newuidmap") || absl::StrContains(reason, "newgidmap") ||
        absl::StrContains(reason, "fusermount")));
  if (!refused) return "";
  return "ranks gain no privileges from setuid programs, unless the node's worker has "
         "--setuid-programs with their account, which 'hpcctl run -- id' shows";
}

std::string VirtualEnvironment(const Environment& environment) {
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* folder = environment(name);
    if (folder != nullptr && *folder != '\0') return folder;
  }
  return "";
}

std::string InterpreterHint(const v1::Run& run, const Environment& environment) {
  if (run.command().empty()) return "";
  const std::string& python = run.command(0);
  const std::string folder = VirtualEnvironment(environment);
  // Without a folder it is found by PATH.
  if (!IsPython(python) || folder.empty()) return "";
  const bool lacks = absl::StrContains(run.reason(), "No module named") ||
                     absl::StrContains(run.reason(), "was not found in PATH");
  if (!lacks) return "";
  return absl::StrCat("'", python, "' is the one that the node's worker finds, not that of ",
                      folder, ": name it, as in 'hpcctl run -- ", folder, "/bin/", python,
                      " ...', or start the worker with it in PATH");
}

std::string TrainHint(const v1::Run& run) {
  if (run.command().empty()) return "";
  const std::string& program = run.command(0);
  // The program of 'hpcctl check --program' may have any name.
  const bool meant = program.substr(program.rfind('/') + 1) == "hpc-train" ||
                     (run.name() == "check" && run.command_size() > 1 && run.command(1) == "check");
  const bool absent =
      absl::StrContains(run.reason(), "was not found in PATH") ||
      absl::StrContains(run.reason(), absl::StrCat("'", program, "' does not exist"));
  if (!meant || !absent) return "";
  return "'sudo deploy/install.sh train' on that PC, in hpcctl's sources, makes and installs "
         "hpc-train; 'hpcctl check --program' names another place";
}

}  // namespace

std::string FailureHint(const v1::Run& run, const Environment& environment) {
  if (run.state() != v1::RUN_STATE_FAILED) return "";
  std::string hint = LocalRankHint(run);
  if (hint.empty()) hint = DistributedHint(run.reason());
  if (hint.empty()) hint = AbortHint(run.reason());
  if (hint.empty()) hint = AddressHint(run.reason());
  if (hint.empty()) hint = SlurmHint(run.reason());
  if (hint.empty()) hint = PermissionHint(run.reason());
  if (hint.empty()) hint = PrivilegesHint(run.reason());
  if (hint.empty()) hint = TrainHint(run);
  return hint.empty() ? InterpreterHint(run, environment) : hint;
}

}  // namespace hpc::client
