#include "coordinator/options.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/files/toml_config.h"
#include "common/process/notify.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "common/version.h"

namespace hpc::coordinator {
namespace {

constexpr char kDescription[] =
    "The coordinator of an hpcctl cluster: tracks its nodes, queues runs and places gangs.\n"
    "Users of this machine reach it by its Unix socket; workers and users of other machines by\n"
    "the address given to --listen.\n";
constexpr char kFooter[] =
    "\nEvery option can also be set in the environment (HPC_COORDINATOR_STATE_DIR ...) or in a "
    "TOML\n"
    "file (--config; state-dir = \"/srv/hpc\"). The command line wins over the environment, the\n"
    "environment over the file.\n"
    "\nExample:\n"
    "  hpc-coordinator --state-dir /srv/hpc --listen 192.168.1.10:7077\n"
    "  hpc-coordinator restore cluster.hpc --state-dir /srv/hpc\n";

struct Texts {
  std::string state_dir;
  std::string listen;
  std::string socket;
  bool insecure = false;
  std::string admin_group = "hpc";
  std::string authority_key;
  std::string passphrase_file;
  int ready_fd = -1;
  std::string lease = "6s";
  std::string reconnect_grace = "3s";
  std::string last_call = "2s";
  std::string grow_steady = "30s";
  std::string restart_backoff = "1s";
  int32_t loss_retries = Options().loss_retries;
  int32_t runs_per_user = Options().runs_per_user;
  int32_t user_priority = Options().user_priority;
  std::string log_level = "info";
  std::string wake_hook;
  std::string restore_from;
};

void Declare(CLI::App* app, const std::string& default_socket, Texts* texts) {
  app->add_option("--state-dir", texts->state_dir, "Where everything is kept; made if missing")
      ->envname("HPC_COORDINATOR_STATE_DIR")
      ->capture_default_str();
  app->add_option("--listen", texts->listen,
                  "ADDR:PORT for workers and clients on other machines; port 0: any free one")
      ->envname("HPC_COORDINATOR_LISTEN");
  app->add_option("--socket", texts->socket,
                  absl::StrCat("Path of the Unix socket (default: ", default_socket,
                               "; with another state directory coordinator.sock in that)"))
      ->envname("HPC_COORDINATOR_SOCKET");
  app->add_flag("--insecure", texts->insecure,
                "No TLS and no certificates: anybody may do anything at a loopback address")
      ->envname("HPC_COORDINATOR_INSECURE");
  app->add_option("--admin-group", texts->admin_group,
                  "Unix group whose members are admins at the Unix socket, as root is")
      ->envname("HPC_COORDINATOR_ADMIN_GROUP")
      ->capture_default_str();
  app->add_option("--authority-key", texts->authority_key,
                  "Where the authority's private key is, if not in the state directory")
      ->envname("HPC_COORDINATOR_AUTHORITY_KEY");
  app->add_option("--passphrase-file", texts->passphrase_file,
                  "File with the passphrase of that key")
      ->envname("HPC_COORDINATOR_PASSPHRASE_FILE");
  app->add_option("--ready-fd", texts->ready_fd,
                  "Write a line with the addresses to this descriptor once they answer")
      ->envname("HPC_COORDINATOR_READY_FD");
  app->add_option("--lease", texts->lease, "Silence after which a node counts as lost")
      ->envname("HPC_COORDINATOR_LEASE")
      ->capture_default_str();
  app->add_option("--reconnect-grace", texts->reconnect_grace,
                  "How long a worker whose connection was closed may take to come back before its "
                  "node counts as lost, if the lease does not end before; its ranks run on "
                  "meanwhile")
      ->envname("HPC_COORDINATOR_RECONNECT_GRACE")
      ->capture_default_str();
  app->add_option("--last-call", texts->last_call,
                  "How long a run that could start with fewer nodes than it wants waits for more")
      ->envname("HPC_COORDINATOR_LAST_CALL")
      ->capture_default_str();
  app->add_option("--grow-steady", texts->grow_steady,
                  "How long a node must have been there, and a gang must have run, before the gang "
                  "is started again to grow onto it")
      ->envname("HPC_COORDINATOR_GROW_STEADY")
      ->capture_default_str();
  app->add_option("--restart-backoff", texts->restart_backoff,
                  "How long a run waits before it is started again; doubles with each further "
                  "failure, up to 60 times as long")
      ->envname("HPC_COORDINATOR_RESTART_BACKOFF")
      ->capture_default_str();
  app->add_option("--loss-retries", texts->loss_retries,
                  "How often in a row a run is started again after a lost node or a failed start; "
                  "a minute of running ends the row")
      ->envname("HPC_COORDINATOR_LOSS_RETRIES")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app->add_option("--runs-per-user", texts->runs_per_user,
                  "How many runs that are not over one user may have")
      ->envname("HPC_COORDINATOR_RUNS_PER_USER")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app->add_option("--user-priority", texts->user_priority,
                  "The highest --priority that a user may ask for; an admin may ask for more")
      ->envname("HPC_COORDINATOR_USER_PRIORITY")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app->add_option("--log-level", texts->log_level, "debug, info, warning or error")
      ->envname("HPC_COORDINATOR_LOG_LEVEL")
      ->capture_default_str();
  app->add_option("--wake-hook", texts->wake_hook,
                  "Shell command that wakes a PC, in place of Wake-on-LAN packets; it finds "
                  "HPC_NODE and HPC_MACS in its environment")
      ->envname("HPC_COORDINATOR_WAKE_HOOK");
  CLI::App* restore = app->add_subcommand(
      "restore", "Make the state directory from a file of 'hpcctl backup', and end");
  restore->add_option("FILE", texts->restore_from, "The backup")->required();
  restore->fallthrough();
  app->set_version_flag("--version", absl::StrCat("hpc-coordinator ", Version()));
}

// Parses a time from `least` (written as `least_text`) to ten minutes.
absl::StatusOr<absl::Duration> ParseSpan(const char* option, const std::string& text,
                                         absl::Duration least, const char* least_text) {
  const absl::StatusOr<absl::Duration> span = ParseDuration(text);
  if (!span.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", span.status().message()));
  }
  if (*span < least || *span > absl::Minutes(10)) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " ", text, ": it must be from ", least_text, " to 10m"));
  }
  return span;
}

// Makes a path absolute, since it is told to others, who are in other folders. "" stays "".
std::string Absolute(const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  return std::filesystem::absolute(path).lexically_normal();
}

absl::StatusOr<Options> Check(const Texts& texts, const CoordinatorPaths& defaults) {
  Options options;
  options.state_dir = Absolute(texts.state_dir);
  if (!texts.listen.empty()) {
    HPC_ASSIGN_OR_RETURN(options.listen, ParseEndpoint(texts.listen));
    if (options.listen->is_unix) {
      return absl::InvalidArgumentError(
          absl::StrCat("--listen ", texts.listen, ": a Unix socket is given to --socket"));
    }
    if (texts.insecure && !options.listen->IsLocal()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--insecure is for loopback addresses only: whoever reaches ", texts.listen,
                       " could run programs on every node. Leave it out: hpcctl cluster init has "
                       "made, or makes,",
                       " the keys that are needed"));
    }
  }
  options.insecure = texts.insecure;
  options.admin_group = texts.admin_group;
  options.authority_key = texts.authority_key;
  options.passphrase_file = texts.passphrase_file;
  options.socket = Absolute(texts.socket);
  if (options.socket.empty()) {
    options.socket =
        texts.state_dir == defaults.state_dir ? defaults.socket : SocketIn(options.state_dir);
  }
  options.ready_fd = texts.ready_fd;
  HPC_RETURN_IF_ERROR(CheckReadyFd(options.ready_fd));
  HPC_ASSIGN_OR_RETURN(options.lease,
                       ParseSpan("--lease", texts.lease, absl::Milliseconds(500), "0.5s"));
  HPC_ASSIGN_OR_RETURN(
      options.reconnect_grace,
      ParseSpan("--reconnect-grace", texts.reconnect_grace, absl::Milliseconds(100), "0.1s"));
  HPC_ASSIGN_OR_RETURN(options.last_call,
                       ParseSpan("--last-call", texts.last_call, absl::Milliseconds(1), "1ms"));
  HPC_ASSIGN_OR_RETURN(options.grow_steady,
                       ParseSpan("--grow-steady", texts.grow_steady, absl::Milliseconds(1), "1ms"));
  HPC_ASSIGN_OR_RETURN(
      options.restart_backoff,
      ParseSpan("--restart-backoff", texts.restart_backoff, absl::Milliseconds(1), "1ms"));
  options.loss_retries = texts.loss_retries;
  options.runs_per_user = texts.runs_per_user;
  options.user_priority = texts.user_priority;
  if (!ParseLogLevel(texts.log_level, &options.log_level)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log-level ", texts.log_level, ": it is debug, info, warning or error"));
  }
  options.wake_hook = texts.wake_hook;
  options.restore_from = Absolute(texts.restore_from);
  return options;
}

}  // namespace

ParsedOptions ParseOptions(int argc, const char* const* argv, const CoordinatorPaths& defaults) {
  CLI::App app(kDescription, "hpc-coordinator");
  app.footer(kFooter);
  Texts texts;
  texts.state_dir = defaults.state_dir;
  Declare(&app, defaults.socket, &texts);
  AddTomlConfig(&app);
  ParsedOptions parsed;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    parsed.answer = Answer{app.help()};
    return parsed;
  } catch (const CLI::CallForVersion& version) {
    parsed.answer = Answer{absl::StrCat(version.what(), "\n")};
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.answer = Answer{
        absl::StrCat("hpc-coordinator: ", error.what(), "; see hpc-coordinator --help\n"), true};
    return parsed;
  }
  absl::StatusOr<Options> options = Check(texts, defaults);
  if (options.ok()) {
    parsed.options = *std::move(options);
  } else {
    parsed.answer =
        Answer{absl::StrCat("hpc-coordinator: ", options.status().message(), "\n"), true};
  }
  return parsed;
}

}  // namespace hpc::coordinator
