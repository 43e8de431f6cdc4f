#include "worker/attempts/attempt_launch.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/unique_fd.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/peers/peer_socket.h"
#include "worker/attempts/peers/recall_port.h"
#include "worker/core/rank_environment.h"
#include "worker/supervisor/protocol/python_words.h"

namespace hpc::worker {
namespace {

// 0: the supervisor decides.
int NumberOf(protocol::StopSignal signal) {
  switch (signal) {
    case protocol::StopSignal::kAuto:
      return 0;
    case protocol::StopSignal::kTerm:
      return SIGTERM;
    case protocol::StopSignal::kInt:
      return SIGINT;
    case protocol::StopSignal::kHup:
      return SIGHUP;
    case protocol::StopSignal::kQuit:
      return SIGQUIT;
    case protocol::StopSignal::kUsr1:
      return SIGUSR1;
    case protocol::StopSignal::kUsr2:
      return SIGUSR2;
  }
  return 0;
}

bool IsBinary(const std::string& program) {
  const UniqueFd file(open(program.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char magic[SELFMAG];
  return file.ok() && read(file.get(), magic, SELFMAG) == SELFMAG &&
         memcmp(magic, ELFMAG, SELFMAG) == 0;
}

// Only a Python can have a warm parent, and only a supervisor that has another attempt later can
// keep it. Where each attempt has a home of its own, no two have the same variables.
bool MayBeWarm(const LaunchOrder& order, const PreparePlan& plan, const SupervisorSpec& spec) {
  const std::vector<std::string>& env = spec.ranks[0].env;
  const bool own_home = std::count(env.begin(), env.end(), "HOME=" + HomeDir(spec.dir)) > 0;
  return order.keeps_warm && order.prepare.warm != protocol::WarmStart::kOff && plan.account &&
         WordsOfPython(spec.ranks[0].argv) > 0 && !plan.python.facts.empty() && !own_home &&
         IsBinary(plan.program);
}

SupervisorSpec MakeSpec(const LaunchOrder& order, PreparePlan* plan) {
  SupervisorSpec spec;
  spec.name = order.prepare.ref.ToString();
  spec.dir = order.context.facts.attempt_dir;
  spec.workdir = order.prepare.workdir;
  spec.default_grace_ms = absl::ToInt64Milliseconds(order.prepare.stop_grace);
  spec.stop_signal = NumberOf(order.prepare.stop_signal);
  spec.umask = order.prepare.umask;
  spec.lease_ms = absl::ToInt64Milliseconds(order.lease);
  for (RankProgram& rank : plan->ranks.ranks) {
    spec.ranks.push_back({.rank = rank.rank,
                          .local_rank = rank.local_rank,
                          .program = plan->program,
                          .argv = std::move(rank.argv),
                          .env = std::move(rank.env)});
  }
  plan->ranks.ranks.clear();
  spec.warm = MayBeWarm(order, *plan, spec);
  return spec;
}

absl::StatusOr<LaunchedSupervisor> LaunchSupervisor(const LaunchOrder& order, Launch* launch) {
  if (*order.unwanted) return absl::CancelledError("not wanted any more");
  SupervisorSpec spec = MakeSpec(order, &launch->plan);
  UniqueFd recall;
  if (order.prepare.peers.size() > 1) {
    HPC_ASSIGN_OR_RETURN(RecallPort port, OpenRecallPort(order.context.facts.address));
    recall = std::move(port.socket);
    launch->recall = port.access;
    spec.recall_key = port.access.key;
    spec.recall_proof = port.access.proof;
    spec.recall_from = PeerAddresses(order.prepare);
  }
  return SupervisorClient::Launch(order.spawner.get(), spec, launch->plan.account, recall.get());
}

}  // namespace

Launch LaunchAttempt(LaunchOrder order) {
  LocalFacts& facts = order.context.facts;
  facts.interface = order.host->InterfaceOf(facts.address).value_or("");
  if (order.store) order.context.record.push_back(ToRecordLine(*order.store));
  Launch launch;
  launch.plan = MakePreparePlan(order.prepare, order.context);
  if (launch.plan.status.ok()) {
    launch.supervisor = LaunchSupervisor(order, &launch);
  } else {
    launch.supervisor = launch.plan.status;
  }
  return launch;
}

}  // namespace hpc::worker
