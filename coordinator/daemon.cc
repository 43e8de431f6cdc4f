#include "coordinator/daemon.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files/files.h"
#include "common/files/state_dir.h"
#include "common/pki/founder.h"
#include "common/pki/keyring.h"
#include "common/process/notify.h"
#include "common/process/open_files.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "coordinator/core/values/event_kinds.h"
#include "coordinator/rpc/doors/descriptors.h"
#include "coordinator/rpc/doors/stream_flood.h"
#include "coordinator/rpc/server.h"
#include "coordinator/runtime/clock_reading.h"
#include "coordinator/runtime/engine.h"
#include "coordinator/runtime/wake_hook.h"
#include "coordinator/runtime/wake_on_lan.h"
#include "coordinator/stop_signal.h"
#include "coordinator/store/backup/backup_maker.h"
#include "coordinator/store/logs/log_store.h"
#include "coordinator/store/sqlite_store.h"
#include "coordinator/watchdog.h"

namespace hpc::coordinator {
namespace {

ClusterOptions ClusterOptionsOf(const Options& options) {
  ClusterOptions cluster;
  cluster.lease = options.lease;
  cluster.reconnect_grace = options.reconnect_grace;
  cluster.last_call = options.last_call;
  cluster.grow_steady = options.grow_steady;
  cluster.restart_backoff = options.restart_backoff;
  cluster.infrastructure_retries = options.loss_retries;
  cluster.runs_per_user = options.runs_per_user;
  cluster.user_priority = options.user_priority;
  cluster.heartbeat_interval = options.lease / 3;
  return cluster;
}

std::unique_ptr<WakeSender> MakeWakeSender(const Options& options) {
  if (options.wake_hook.empty()) return std::make_unique<WakeOnLan>();
  return std::make_unique<WakeHook>(options.wake_hook);
}

absl::Status MakeFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos || slash == 0) return absl::OkStatus();
  return MakeDirs(path.substr(0, slash));
}

// The error is NotFound, with words, if there is no authority yet.
absl::StatusOr<std::unique_ptr<Trust>> LoadTrust(const Options& options, const StateDir& state,
                                                 Store* store) {
  RemoveUnfinished(state.File(pki::kKeyringFolder));
  pki::KeyringPlace place{state.File(pki::kKeyringFolder), options.authority_key, ""};
  if (!options.passphrase_file.empty()) {
    HPC_ASSIGN_OR_RETURN(place.passphrase, pki::ReadPassphrase(options.passphrase_file));
  }
  absl::StatusOr<pki::Keyring> keyring = pki::Keyring::Load(place, RealClock().Get().wall);
  if (absl::IsNotFound(keyring.status())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "no keys have been made for this cluster yet: run hpcctl cluster init --state-dir ",
        state.path(),
        " once (or, to try things on one machine, --insecure with a loopback "
        "address)"));
  }
  HPC_RETURN_IF_ERROR(keyring.status());
  if (const absl::Status secret = keyring->CheckKeyIsSecret(); !secret.ok()) {
    LogWarning("INSECURE: others than its owner may read the authority's key",
               {{"key", secret.message()}, {"do", "chmod 600, then hpcctl cluster rotate-ca"}});
  }
  HPC_ASSIGN_OR_RETURN(TrustSnapshot snapshot, store->LoadTrust());
  return std::make_unique<Trust>(*std::move(keyring), std::move(snapshot));
}

// The first admin got its certificate before there was a coordinator to note it.
absl::Status TakeInFounder(const std::string& keyring_folder, Trust* trust, Engine* engine) {
  const absl::StatusOr<pki::Certificate> founder = pki::LoadFounder(keyring_folder);
  if (absl::IsNotFound(founder.status())) return absl::OkStatus();
  HPC_RETURN_IF_ERROR(founder.status());
  if (trust->roster.Knows(founder->Serial())) return absl::OkStatus();
  HPC_ASSIGN_OR_RETURN(const pki::Identity identity, founder->GetIdentity());
  CertificateRecord record;
  record.serial = founder->Serial();
  record.role = identity.role;
  record.name = identity.name;
  record.issued_at = engine->now().wall;
  record.expires_at = founder->not_after();
  record.issued_to = "hpcctl cluster init";
  trust->roster.Add(record);
  engine->RecordTrust(
      {record},
      {event::kSecurityJoined, absl::StrCat(identity.ToString(), " has made this cluster")},
      [](const absl::Status&) {});
  return absl::OkStatus();
}

// A coordinator that has been started once has both a database and logs.
absl::Status CheckDatabaseIsThere(const StateDir& state) {
  const std::string file = state.File("hpc.db");
  struct stat found;
  if (stat(file.c_str(), &found) == 0 && found.st_size > 0) return absl::OkStatus();
  if (access(state.File("logs").c_str(), F_OK) != 0) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      file,
      " is missing or empty, although a coordinator has run here. Restore a backup into a new "
      "directory (hpc-coordinator restore FILE), or move logs away to begin anew, without what was "
      "revoked and with run numbers that PCs know: docs/OPERATIONS.md"));
}

void SayReady(const Options& options, const Server& server) {
  std::string line = "ready";
  if (!server.address().empty()) absl::StrAppend(&line, " listen=", server.address());
  absl::StrAppend(&line, " socket=", options.socket);
  printf("%s\n", line.c_str());
  fflush(stdout);
  if (options.insecure && !server.address().empty()) {
    LogWarning(absl::StrCat("INSECURE: whoever can reach ", server.address(),
                            " can run programs on every node"));
  }
  LogInfo("users of this machine reach it by its socket",
          {{"HPC_COORDINATOR", absl::StrCat("unix:", options.socket)}});
  LogInfo("the guard against floods of cancelled calls",
          {{"active", kStreamFloodIsBounded ? "yes" : "no, it is not made for this build's gRPC"}});
  NotifyReadyFd(options.ready_fd, line);
  NotifySystemd("READY=1");
}

}  // namespace

absl::Status RunDaemon(const Options& options) {
  SetLogLevel(options.log_level);
  BlockStopSignals();
  RaiseOpenFiles();
  HPC_ASSIGN_OR_RETURN(const StateDir state, StateDir::Open(options.state_dir, "coordinator"));
  unlink(UnfinishedBackup(state.path()).c_str());  // left by a process that was killed
  HPC_RETURN_IF_ERROR(MakeFolderOf(options.socket));
  HPC_RETURN_IF_ERROR(CheckDatabaseIsThere(state));
  HPC_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store,
                       OpenSqliteStore(state.File("hpc.db"), {.lengthen_log = true}));
  HPC_ASSIGN_OR_RETURN(Snapshot snapshot, store->Load());
  HPC_ASSIGN_OR_RETURN(const std::optional<ClockReading> clocks, store->LoadClock());
  snapshot.clock_set = SetBetween(clocks, ReadClocks());
  HPC_RETURN_IF_ERROR(CheckLogsAreOf(state.File("logs"), snapshot.last_run));
  HPC_ASSIGN_OR_RETURN(const std::unique_ptr<LogStore> logs,
                       LogStore::Open(state.File("logs"), LogStoreOptions()));
  const RealClock clock;
  const std::unique_ptr<WakeSender> wake_sender = MakeWakeSender(options);
  HPC_ASSIGN_OR_RETURN(SecretVault secrets,
                       SecretVault::Open(state.File("secrets"), LiveRuns(snapshot)));
  Engine engine(ClusterOptionsOf(options), snapshot, &clock, store.get(), logs.get(), &secrets,
                wake_sender.get());
  engine.Note({event::kClusterStarted, absl::StrCat("coordinator ", Version(), " has started")});
  ServerOptions server_options;
  server_options.listen = options.listen;
  std::unique_ptr<Trust> trust;
  if (options.listen && !options.insecure) {
    HPC_ASSIGN_OR_RETURN(trust, LoadTrust(options, state, store.get()));
    HPC_RETURN_IF_ERROR(TakeInFounder(state.File(pki::kKeyringFolder), trust.get(), &engine));
  }
  server_options.trust = trust.get();
  server_options.admin_group = options.admin_group;
  server_options.socket = options.socket;
  server_options.state_dir = state.path();
  HPC_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                       Server::Start(server_options, &engine));
  const StopSignal stop([&server] {
    NotifySystemd("STOPPING=1");
    server->RequestStop();
  });
  LogInfo("coordinator started", {{"version", Version()},
                                  {"state_dir", state.path()},
                                  {"runs", snapshot.runs.size()},
                                  {"nodes", snapshot.nodes.size()}});
  SayReady(options, *server);
  Watchdog watchdog = Watchdog::FromEnvironment();
  return server->Run([&] { watchdog.Feed(clock.Get().mono); }, watchdog.interval());
}

}  // namespace hpc::coordinator
