#include "worker/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/files/files.h"
#include "common/files/state_dir.h"
#include "common/process/log.h"
#include "common/process/notify.h"
#include "common/process/open_files.h"
#include "common/process/timer_slack.h"
#include "common/random_number.h"
#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "common/version.h"
#include "worker/coordinator_way.h"
#include "worker/link/coordinator_link.h"
#include "worker/link/renewal.h"
#include "worker/link/route.h"
#include "worker/loop/event_loop.h"
#include "worker/os/account.h"
#include "worker/os/devices/device_probe.h"
#include "worker/os/host_probe.h"
#include "worker/os/machine_power.h"
#include "worker/os/python/python_probe.h"
#include "worker/runtime/control_server.h"
#include "worker/runtime/engine.h"

namespace hpc::worker {
namespace {

// Called before any thread exists, so that every thread leaves these signals to the loop.
UniqueFd TakeSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  // If SIGCHLD were ignored, the kernel would reap our children and give their numbers away.
  signal(SIGCHLD, SIG_DFL);
  return UniqueFd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
}

std::vector<std::string> OwnEnvironment() {
  std::vector<std::string> env;
  for (char** entry = environ; *entry != nullptr; ++entry) env.emplace_back(*entry);
  return env;
}

// Only root's worker can run ranks under other accounts.
absl::StatusOr<Accounts> MakeAccounts(const CommandLine& command) {
  if (geteuid() != 0) {
    if (command.accounts.empty() && command.setuid_programs.empty()) return Accounts();
    return absl::FailedPreconditionError(
        "only a worker that runs as root can run ranks as other accounts: leave out [accounts] and "
        "--setuid-programs, or start the worker as root");
  }
  return Accounts::Make(command.accounts, command.setuid_programs);
}

// Attempts of other accounts are below the state directory. Those accounts may pass through it, but
// see nothing else in it.
absl::Status OpenWay(const Accounts& accounts, const std::string& state_dir) {
  if (accounts.All().empty()) return absl::OkStatus();
  if (chmod(state_dir.c_str(), 0711) != 0) return ErrnoStatus(errno, "chmod " + state_dir);
  for (const Account* account : accounts.All()) {
    const FileRights rights(&account->ids);
    if (faccessat(AT_FDCWD, state_dir.c_str(), X_OK, AT_EACCESS) == 0) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the account ", account->name,
                     ", which ranks run as, cannot reach the state "
                     "directory ",
                     state_dir, ": choose one with --state-dir whose folders everybody may enter"));
  }
  return absl::OkStatus();
}

EngineOptions MakeOptions(const CommandLine& command, const StateDir& state_dir,
                          const std::string& node, Route* route, Accounts accounts,
                          const PowerCommand& power) {
  EngineOptions options;
  options.accounts = std::move(accounts);
  options.node = node;
  options.incarnation = RandomNumber();
  options.state_dir = state_dir.path();
  options.route = route;
  options.address = command.address;
  options.supervisor_program = command.supervisor;
  options.hpc_py_dir = command.hpc_py_dir;
  options.own_env = OwnEnvironment();
  options.rank_env = command.rank_env;
  options.told = {.can_wake_by_hook = command.wake_hook_known,
                  .owners = command.owners,
                  .sleep_trouble = power.SleepTrouble()};
  options.stop_ranks_on_exit = command.stop_ranks_on_exit;
  options.keep_run_dirs = command.keep_run_dirs;
  options.keep_warm = absl::Minutes(command.keep_warm);
  options.reuse = !command.no_reuse;
  return options;
}

// The loop itself feeds the watchdog, so that a loop that hangs is noticed.
void FeedWatchdog(EventLoop* loop, absl::Duration interval) {
  NotifySystemd("WATCHDOG=1");
  loop->At(loop->clock().Get().mono + interval, [loop, interval] { FeedWatchdog(loop, interval); });
}

void StartWatchdog(EventLoop* loop) {
  const char* limit = std::getenv("WATCHDOG_USEC");
  int64_t limit_us = 0;
  if (limit == nullptr || !absl::SimpleAtoi(limit, &limit_us) || limit_us <= 0) return;
  FeedWatchdog(loop, absl::Microseconds(limit_us) / 2);
}

// The first signal ends the worker in good order; a second one ends it at once.
void WatchSignals(EventLoop* loop, int fd, Engine* engine) {
  loop->Add(fd, EPOLLIN, [loop, fd, engine, stopping = false](uint32_t) mutable {
    signalfd_siginfo info;
    if (read(fd, &info, sizeof info) != sizeof info) return;
    if (std::exchange(stopping, true)) return loop->Stop();
    LogInfo("stopping", {{"signal", info.ssi_signo}});
    NotifySystemd("STOPPING=1");
    engine->Shutdown([loop] { loop->Stop(); });
  });
}

// gRPC's threads look at its timers every second, each core's at a time of its own, whether a timer
// is set or not. If they are woken late, they do it less often and all together. The worker's own
// timers belong to the loop.
std::unique_ptr<Link> MakeLink(EventLoop* loop, Route* route) {
  const TimerSlack for_grpc(absl::Seconds(1));
  return MakeCoordinatorLink(loop, route);
}

void WarnIfPlain(const Route& route) {
  if (route.next().is_unix || route.security().is_tls()) return;
  LogWarning(
      "INSECURE: the connection to the coordinator is plain text; every account of this machine "
      "can pose as the coordinator and run programs here",
      {{"coordinator", route.next().ToString()}});
}

}  // namespace

absl::Status RunDaemon(const CommandLine& command) {
  SetLogLevel(command.log_level);
  RaiseOpenFiles();
  const UniqueFd signals = TakeSignals();
  HPC_ASSIGN_OR_RETURN(const StateDir state_dir, StateDir::Open(command.state_dir, "worker"));
  HPC_ASSIGN_OR_RETURN(Accounts accounts, MakeAccounts(command));
  HPC_RETURN_IF_ERROR(OpenWay(accounts, state_dir.path()));
  const std::string identity = state_dir.File(kIdentityFolder);
  RemoveUnfinished(identity);
  const absl::StatusOr<pki::Membership> membership = pki::LoadMembership(identity);
  HPC_ASSIGN_OR_RETURN(const Way way, ChooseWay(command, membership));
  Route route(way.addresses, way.security);
  WarnIfPlain(route);
  if (command.hpc_py_dir.empty()) {
    LogWarning("hpc.py was not found: ranks cannot import it; name its folder with --hpc-py");
  }

  const RealClock clock;
  EventLoop loop(&clock);
  const auto host = MakeHostProbe({.state_dir = state_dir.path()});
  if (geteuid() == 0) MakeGpuNodes();
  const auto devices = MakeDeviceProbe(command.cpu_slots);
  const auto python = MakePythonProbe();
  PowerCommand power(command.power_command);
  std::optional<Renewal> renewal;
  if (route.security().is_tls()) renewal.emplace(&loop, &route, identity, *membership);
  const auto link = MakeLink(&loop, &route);
  Engine engine(&loop,
                MakeOptions(command, state_dir, way.node, &route, std::move(accounts), power),
                {host.get(), devices.get(), python.get(), &power}, link.get());
  engine.SetOnWelcome([&, ready_fd = command.ready_fd](const std::string& address) mutable {
    NotifyReadyFd(std::exchange(ready_fd, -1),
                  absl::StrCat("ready name=", way.node, " address=", address));
    if (renewal) renewal->OnConnected(clock.Get().wall);
  });
  HPC_RETURN_IF_ERROR(engine.Start());
  HPC_ASSIGN_OR_RETURN(const auto control, ControlServer::Listen(&loop, state_dir.path(), &engine));

  WatchSignals(&loop, signals.get(), &engine);
  StartWatchdog(&loop);
  LogInfo("worker is running", {{"version", Version()},
                                {"node", way.node},
                                {"state_dir", state_dir.path()},
                                {"coordinator", route.next().ToString()}});
  NotifySystemd("READY=1");
  loop.Run();
  loop.Remove(signals.get());
  LogInfo("worker has stopped");
  return absl::OkStatus();
}

}  // namespace hpc::worker
