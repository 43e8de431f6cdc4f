#include "worker/command_line.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/files/toml_config.h"
#include "common/process/notify.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/version.h"
#include "worker/os/network.h"

namespace hpc::worker {
namespace {

// Options as they were typed, before they are interpreted.
struct Typed {
  std::string coordinator, level = "info", reclaim_for, grace;
  std::vector<std::string> accounts;
};

// The folder of this program's file.
std::filesystem::path ProgramDir() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
}

void AddDaemonOptions(CLI::App* app, CommandLine* out, Typed* typed) {
  const std::string group = "Running the worker";
  auto option = [&](const char* name, auto& value, const char* env, const char* help) {
    app->add_option(name, value, help)->envname(env)->group(group);
  };
  auto flag = [&](const char* name, bool& value, const char* env, const char* help) {
    app->add_flag(name, value, help)->envname(env)->group(group);
  };
  option("--coordinator", typed->coordinator, "HPC_WORKER_COORDINATOR",
         "Where the coordinator listens: ADDR:PORT or unix:PATH (default: where this PC joined)");
  option("--name", out->name, "HPC_WORKER_NAME",
         "This node's name (default: as it joined; the host name to join)");
  option("--address", out->address, "HPC_WORKER_ADDRESS",
         "IP address that other nodes reach this PC at (default: the one that traffic to the "
         "coordinator leaves from)");
  option("--cpu-slots", out->cpu_slots, "HPC_WORKER_CPU_SLOTS",
         "Ranks to take at a time where there is no GPU (default: 1)");
  flag("--insecure", out->insecure, "HPC_WORKER_INSECURE",
       "Speak plain text to a coordinator on this machine's loopback address: every account here "
       "can pose as it");
  option("--power-command", out->power_command, "HPC_WORKER_POWER_COMMAND",
         "Shell command that puts the PC to sleep (default: logind's suspend)");
  flag("--wake-hook-known", out->wake_hook_known, "HPC_WORKER_WAKE_HOOK_KNOWN",
       "The coordinator has a hook that can wake this PC");
  app->add_option("--owner", out->owners,
                  "User who may reclaim and lend this PC from anywhere ('hpcctl whoami' says one's "
                  "name); may be given several times")
      ->envname("HPC_WORKER_OWNER")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  flag("--stop-ranks-on-exit", out->stop_ranks_on_exit, "HPC_WORKER_STOP_RANKS_ON_EXIT",
       "End the ranks when the worker is stopped, instead of leaving them to the next worker");
  option(
      "--keep-run-dirs", out->keep_run_dirs, "HPC_WORKER_KEEP_RUN_DIRS",
      "Days, of those that the worker sees, that a run's folder with its checkpoints stays after "
      "its last attempt here; 0: for ever (default: 30)");
  option("--keep-warm", out->keep_warm, "HPC_WORKER_KEEP_WARM",
         "Minutes after an attempt of a Python program for which a process that has imported its "
         "modules waits for the next one; 0: none does (default: 5)");
  flag("--no-reuse", out->no_reuse, "HPC_WORKER_NO_REUSE",
       "Keep nothing from one attempt to the next: each gets a new supervisor, cgroup and folders, "
       "which takes some milliseconds");
  option("--supervisor", out->supervisor, "HPC_WORKER_SUPERVISOR",
         "The hpc-supervisor program (default: beside this one)");
  option("--hpc-py", out->hpc_py_dir, "HPC_WORKER_HPC_PY",
         "Folder of hpc.py (default: ../share/hpcctl/python beside this program)");
  app->add_option("--accounts", typed->accounts,
                  "USER=ACCOUNT of this PC that the user's ranks run as, '*' for all others; in "
                  "the file a table [accounts] (default, for a worker of root's: the account hpc)")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->envname("HPC_WORKER_ACCOUNTS")
      ->group(group);
  app->add_option("--setuid-programs", out->setuid_programs,
                  "ACCOUNT whose ranks may gain privileges from what they execute: sudo, rootless "
                  "podman, sshfs; may be given several times (default: none)")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->envname("HPC_WORKER_SETUID_PROGRAMS")
      ->group(group);
  app->add_option(
         "--rank-env", out->rank_env,
         "NAME of a variable of the worker's own that ranks of other accounts inherit too, "
         "as HF_HOME or 'NCCL_*'; may be given several times (default: PATH, LANG, LC_* "
         "and TZ alone)")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->envname("HPC_WORKER_RANK_ENV")
      ->group(group);
  option("--ready-fd", out->ready_fd, "HPC_WORKER_READY_FD",
         "Write 'ready name=... address=...' to this descriptor once connected");
  option("--log-level", typed->level, "HPC_WORKER_LOG_LEVEL",
         "debug, info, warning or error (default: info)");
}

void AddJoin(CLI::App* app, CommandLine* out) {
  CLI::App* join = app->add_subcommand(
      "join", "Make this PC a member of a cluster, with a token of 'hpcctl token create'");
  join->add_option("TOKEN", out->token, "The line that 'hpcctl token create' printed")->required();
  join->add_option("--name", out->name, "This node's name (default: the host name)");
  join->add_flag("--replace", out->replace,
                 "Give up the membership that this PC has, of another name or cluster");
  join->callback([out] { out->command = CommandLine::Command::kJoin; });
  join->fallthrough();
}

// A variable of a shell may be empty. That must not mean "as by default".
std::string NotEmpty(const std::string& text) { return text.empty() ? "is empty" : ""; }

void AddOwnerCommands(CLI::App* app, CommandLine* out, Typed* typed) {
  using Command = CommandLine::Command;
  CLI::App* reclaim = app->add_subcommand(
      "reclaim", "Take this PC back: ranks end at once, nothing new is placed here");
  reclaim->add_option("--for", typed->reclaim_for, "Lend it again after this time, as 2h or 30m")
      ->check(NotEmpty);
  reclaim->add_option("--reason", out->reason, "Shown to whoever asks why");
  reclaim->add_option("--grace", typed->grace, "From SIGTERM to SIGKILL (default: 10s)")
      ->check(NotEmpty);
  reclaim->callback([out] { out->command = Command::kReclaim; });
  CLI::App* lend = app->add_subcommand("lend", "Lend this PC to the cluster again");
  lend->callback([out] { out->command = Command::kLend; });
  CLI::App* status = app->add_subcommand("status", "What this PC does for the cluster");
  status->callback([out] { out->command = Command::kStatus; });
  for (CLI::App* command : {reclaim, lend, status}) {
    command->fallthrough();
    command->add_flag("--json", out->json, "Print the worker's answer as it is");
  }
}

absl::Status Explain(const CLI::ParseError& error, int argc, const char* const* argv) {
  const std::string what = error.what();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.empty() || word[0] == '-') continue;
    const std::string meant = Nearest(word, {"join", "reclaim", "lend", "status"});
    if (!meant.empty() && meant != word && what.find(word) != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no command '", word, "'; did you mean '", meant, "'?"));
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(what, " (hpc-worker --help lists all options)"));
}

absl::StatusOr<std::optional<absl::Duration>> OptionalDuration(const std::string& text) {
  if (text.empty()) return std::nullopt;
  HPC_ASSIGN_OR_RETURN(const absl::Duration duration, ParseDuration(text));
  return duration;
}

absl::Status FinishOwner(const Typed& typed, CommandLine* out) {
  HPC_ASSIGN_OR_RETURN(out->reclaim_for, OptionalDuration(typed.reclaim_for));
  HPC_ASSIGN_OR_RETURN(out->grace, OptionalDuration(typed.grace));
  return CheckText("--reason", out->reason);
}

absl::Status SetAccounts(const Typed& typed, CommandLine* out) {
  for (const std::string& pair : typed.accounts) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--accounts '", pair, "' is not USER=ACCOUNT, as in anna=anna or *=games"));
    }
    if (!out->accounts.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("--accounts names '", pair.substr(0, equals), "' twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckRankEnv(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    HPC_RETURN_IF_ERROR(CheckText("--rank-env", name));
    if (const size_t equals = name.find('='); equals != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("--rank-env takes names alone: set ", name, " in the worker's environment (",
                       "/etc/default/hpc-worker) and say --rank-env ", name.substr(0, equals)));
    }
    const size_t star = name.find('*');
    if (!name.empty() && (star == std::string::npos || star + 1 == name.size())) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--rank-env '", name, "' is not a variable's name, as HF_HOME, nor the ",
                     "beginning of some, as NCCL_*"));
  }
  return absl::OkStatus();
}

absl::Status FinishCoordinator(const Typed& typed, CommandLine* out) {
  if (!typed.coordinator.empty()) {
    HPC_ASSIGN_OR_RETURN(out->coordinator, ParseEndpoint(typed.coordinator));
  }
  if (!out->insecure) return absl::OkStatus();
  if (!out->coordinator) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--insecure needs the coordinator's name: --coordinator 127.0.0.1:", kDefaultPort));
  }
  if (out->coordinator->IsLocal()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--insecure is for a coordinator on this machine, and ", out->coordinator->ToString(),
      " is not: anybody on the network could pose as it and run programs here. Make this PC a "
      "member instead: 'hpcctl token create' there, 'hpc-worker join TOKEN' here"));
}

absl::Status CheckAddress(const std::string& address) {
  if (address.empty()) return absl::OkStatus();
  const absl::Status own = CheckOwnAddress(ListInterfaceAddresses(), address);
  if (own.ok()) return own;
  return absl::InvalidArgumentError(absl::StrCat("--address: ", std::string(own.message())));
}

absl::Status FinishDaemon(const Typed& typed, CommandLine* out) {
  HPC_RETURN_IF_ERROR(FinishCoordinator(typed, out));
  HPC_RETURN_IF_ERROR(SetAccounts(typed, out));
  HPC_RETURN_IF_ERROR(CheckRankEnv(out->rank_env));
  HPC_RETURN_IF_ERROR(CheckAddress(out->address));
  for (const std::string& owner : out->owners) {
    const absl::Status name = CheckNodeName(owner);
    if (name.ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat("--owner: ", std::string(name.message())));
  }
  if (out->cpu_slots < 1 || out->cpu_slots > 4096) {
    return absl::InvalidArgumentError(
        absl::StrCat("--cpu-slots ", out->cpu_slots, " is not between 1 and 4096"));
  }
  if (out->keep_warm < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--keep-warm ", out->keep_warm, " is less than no time: give minutes"));
  }
  if (out->keep_run_dirs < 0) {
    return absl::InvalidArgumentError(absl::StrCat("--keep-run-dirs ", out->keep_run_dirs,
                                                   ": days must not be negative (0: for ever)"));
  }
  if (!ParseLogLevel(typed.level, &out->log_level)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log-level '", typed.level, "' is none of debug, info, warning and error"));
  }
  const std::filesystem::path dir = ProgramDir();
  if (out->supervisor.empty()) out->supervisor = dir / "hpc-supervisor";
  if (access(out->supervisor.c_str(), X_OK) != 0 ||
      std::filesystem::is_directory(out->supervisor)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the supervisor '", out->supervisor, "' cannot be executed; name it with --supervisor"));
  }
  if (out->hpc_py_dir.empty()) {
    const std::filesystem::path standard = (dir / "../share/hpcctl/python").lexically_normal();
    if (std::filesystem::exists(standard / "hpc.py")) out->hpc_py_dir = standard;
  } else if (!std::filesystem::exists(out->hpc_py_dir + "/hpc.py")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--hpc-py '", out->hpc_py_dir, "': there is no hpc.py in it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv,
                                             const std::vector<std::string>& state_dirs) {
  CommandLine out;
  Typed typed;
  CLI::App app("Offers this PC to an hpcctl cluster, and gives it back to its owner.",
               "hpc-worker");
  app.set_version_flag("--version", Version());
  const std::string state_dir_help =
      absl::StrCat("Where the worker keeps its files (default: ", state_dirs[0], ")");
  app.add_option("--state-dir", out.state_dir, state_dir_help)->envname("HPC_WORKER_STATE_DIR");
  AddDaemonOptions(&app, &out, &typed);
  AddJoin(&app, &out);
  AddOwnerCommands(&app, &out, &typed);
  // The help of a command shows only its own options.
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    command->add_option("--state-dir", out.state_dir, state_dir_help);
  }
  AddTomlConfig(&app);
  app.require_subcommand(0, 1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    return absl::CancelledError(absl::StrCat("hpc-worker ", Version()));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return absl::CancelledError(chosen.empty() ? app.help() : chosen[0]->help(app.get_name()));
  } catch (const CLI::ParseError& error) {
    return Explain(error, argc, argv);
  }
  HPC_RETURN_IF_ERROR(CheckReadyFd(out.ready_fd));
  if (out.state_dir.empty()) {
    out.state_dir = state_dirs[0];
    out.usual_state_dir = true;
    out.more_state_dirs.assign(state_dirs.begin() + 1, state_dirs.end());
  }
  if (out.command == CommandLine::Command::kJoin) HPC_RETURN_IF_ERROR(CheckAddress(out.address));
  HPC_RETURN_IF_ERROR(out.command == CommandLine::Command::kDaemon ? FinishDaemon(typed, &out)
                                                                   : FinishOwner(typed, &out));
  return out;
}

}  // namespace hpc::worker
