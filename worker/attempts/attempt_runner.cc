#include "worker/attempts/attempt_runner.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/process/log.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "worker/attempts/event_age.h"
#include "worker/attempts/peers/peer_socket.h"
#include "worker/attempts/rank_exit.h"
#include "worker/attempts/stop_words.h"
#include "worker/loop/boot_time.h"
#include "worker/os/process_words.h"
#include "worker/supervision/held_cgroup.h"
#include "worker/supervisor/protocol/order.h"

namespace hpc::worker {
namespace {

// How long a failure waits for the last words of the rank: they come through a pipe that may still
// be read when the process is gone.
constexpr absl::Duration kLastWords = absl::Milliseconds(50);
// How long an attempt has to last for its files to be worth a wait for the disk.
constexpr absl::Duration kSyncAfter = absl::Seconds(1);
constexpr absl::Duration kKillRetry = absl::Seconds(1);
// Of the second that a fence leaves for killing: the supervisor's part, and what is left after it
// is for ending what it has not.
constexpr absl::Duration kFenceSlack = absl::Milliseconds(400);
constexpr absl::Duration kFenceHearing = absl::Milliseconds(100);
// How long a stop waits for what is being prepared.
constexpr absl::Duration kDiskPatience = absl::Seconds(2);
// How long a supervisor that told of its attempt's end may take to say that it is idle.
constexpr int kIdlePatienceMs = 100;

absl::Duration AgeOf(int64_t at_ns) { return EventAge(at_ns, BootTimeNs()); }

}  // namespace

AttemptRunner::AttemptRunner(const RunnerContext* context, AttemptRef ref)
    : context_(context),
      ref_(ref),
      dir_(RanksDir(context->state_dir, ref)),
      record_dir_(AttemptDir(context->state_dir, ref)) {}

AttemptRunner::~AttemptRunner() {
  *alive_ = false;
  *unwanted_ = true;
  if (retry_ != 0) context_->loop->Cancel(retry_);
  context_->loop->Cancel(sync_timer_);
  context_->loop->Cancel(obedience_);
  context_->loop->Cancel(patience_);
  context_->loop->Cancel(fence_timer_);
  for (auto& [rank, pending] : pending_) context_->loop->Cancel(pending.timer);
}

PrepareContext AttemptRunner::MakeContext(const worker::Prepare& prepare,
                                          const Inventory& inventory) const {
  PrepareContext context;
  context.state_dir = context_->state_dir;
  context.python = context_->python;
  context.accounts = context_->accounts;
  context.supervisor_program = context_->supervisor_program;
  context.spares = context_->spares;
  LocalFacts& facts = context.facts;
  facts.node = context_->node;
  facts.address = prepare.peers.at(static_cast<size_t>(prepare.node_rank)).address;
  facts.has_rdma = context_->has_rdma;
  facts.has_gpus = HasGpus(inventory);
  facts.hpc_py_dir = context_->hpc_py_dir;
  facts.attempt_dir = dir_;
  facts.run_dir = RunDir(context_->state_dir, ref_.run);
  facts.own_env = context_->own_env;
  facts.rank_env = context_->rank_env;
  for (int32_t index : prepare.devices) {
    const Device& device = inventory.devices.at(static_cast<size_t>(index));
    if (device.kind == DeviceKind::kGpu) facts.gpus.push_back(device.index);
  }
  return context;
}

void AttemptRunner::Prepare(const worker::Prepare& prepare, const Inventory& inventory,
                            absl::Duration lease) {
  prepare_ = prepare;
  first_rank_ = prepare.first_rank;
  ranks_ = prepare.ranks;
  inventory_ = inventory;
  preparing_ = true;
  Prepared prepared{ref_, absl::OkStatus(), "", 0, true};
  if (const absl::Status opened = OpenStore(&prepared); !opened.ok()) {
    return RollBack(OfThisNode(context_->node, opened));
  }
  LaunchOrder order{prepare,        MakeContext(prepare, inventory),
                    lease,          store_record_,
                    context_->host, context_->spawner,
                    unwanted_};
  context_->disk->Ask<worker::Launch>(
      [order = std::move(order)]() mutable { return LaunchAttempt(std::move(order)); },
      [this, alive = alive_, upkeep = context_->upkeep, prepared](worker::Launch launch) {
        if (*alive && !abandoned_) return OnLaunch(prepared, std::move(launch));
        // It has no ranks, and nobody wants it any more.
        if (!launch.supervisor.ok()) return;
        auto unwanted = std::make_shared<SpawnedSupervisor>(std::move(launch.supervisor->process));
        upkeep->Run(
            [unwanted] {
              kill(static_cast<pid_t>(unwanted->pid), SIGKILL);
              SupervisorSpawner::End(std::move(*unwanted));
            },
            [] {});
      });
}

void AttemptRunner::OnLaunch(Prepared prepared, worker::Launch launch) {
  plan_ = std::move(launch.plan);
  if (!plan_.status.ok()) return RollBack(plan_.status);
  if (!launch.supervisor.ok()) {
    return RollBack(OfThisNode(context_->node, launch.supervisor.status()));
  }
  preparing_ = false;
  supervisor_ =
      SupervisorClient::Take(context_->loop, *std::move(launch.supervisor), MakeCallbacks());
  SyncFilesSoon();
  if (stopped_)
    return Stop(absl::ZeroDuration(), "stopped before it was prepared", HaltKind::kNone);
  prepared.store_client_ok = plan_.python.store_client_ok;
  prepared.recall = launch.recall;
  context_->observer->OnPrepared(prepared);
}

// Nobody waits for it: what a rank ends with or saves in its first moments may be lost with the
// power, as if that had gone a moment earlier. Of most attempts that are over by then the
// coordinator has heard.
void AttemptRunner::SyncFilesSoon() {
  sync_timer_ = context_->loop->At(context_->loop->clock().Get().mono + kSyncAfter, [this] {
    context_->upkeep->Run(
        [state_dir = context_->state_dir, spares = context_->spares, ref = ref_] {
          const absl::Status synced = SyncAttemptFiles(state_dir, ref, spares.get());
          if (synced.ok()) return;
          LogWarning("files of an attempt may be lost with the power",
                     {{"attempt", ref.ToString()}, {"error", synced.ToString()}});
        },
        [] {});
  });
}

absl::Status AttemptRunner::OpenStore(Prepared* prepared) {
  if (prepare_.node_rank != 0) return absl::OkStatus();
  // A user who has none here is refused with the plan.
  const auto account = context_->accounts->Of(prepare_.user);
  const bool ours = !account.ok() || *account == nullptr;
  HPC_ASSIGN_OR_RETURN(
      store_, OpenStorePort(context_->loop, prepare_, ours ? geteuid() : (*account)->ids.uid));
  prepared->store_addr = store_.address;
  prepared->store_port = store_.port;
  if (store_.server == nullptr) return absl::OkStatus();
  store_.server->OnChange([this] { ReportRendezvous(); });
  store_record_ = {store_.address, store_.port,         store_.allowed,
                   store_.account, prepare_.world_size, 0};
  return absl::OkStatus();
}

void AttemptRunner::ReopenStore() {
  store_record_ = ReadStoreRecord(record_dir_);
  if (!store_record_) return;
  auto server = worker::ReopenStore(context_->loop, *store_record_);
  if (!server.ok()) {
    context_->loop->Post([this, alive = alive_, why = std::string(server.status().message())] {
      if (*alive) context_->observer->OnDoomed(ref_, why);
    });
    return;
  }
  store_.server = *std::move(server);
  if (store_.server != nullptr) store_.server->OnChange([this] { ReportRendezvous(); });
}

void AttemptRunner::BeginWitnessing(const WitnessRecord& record) {
  if (record.node_rank == 0 && store_.server == nullptr && store_record_) {
    auto server = ReopenForKeepalives(context_->loop, *store_record_);
    if (server.ok()) {
      keepalives_ = *std::move(server);
    } else {
      LogWarning("nobody can vouch for an attempt any more: its port is taken",
                 {{"attempt", ref_.ToString()}, {"error", server.status().ToString()}});
    }
  }
  StoreServer* const server = keepalives_ != nullptr ? keepalives_.get() : store_.server.get();
  witness_ = std::make_unique<GangWitness>(
      context_->loop, ref_, record, server,
      GangWitness::Callbacks{[this] { return context_->observer->VouchFor(ref_); },
                             [this](MonoTime at) { context_->observer->OnWhole(ref_, at); }});
}

void AttemptRunner::RecordArrivals(int32_t arrived) {
  if (arrived == store_record_->arrived) return;
  store_record_->arrived = arrived;
  arrivals_unwritten_ = true;
  WriteArrivals();
}

// One writing at a time, of how things stand then.
void AttemptRunner::WriteArrivals() {
  if (arrivals_on_way_ || !std::exchange(arrivals_unwritten_, false)) return;
  arrivals_on_way_ = true;
  context_->state->Ask<absl::Status>(
      [dir = record_dir_, arrived = store_record_->arrived] { return AddArrivals(dir, arrived); },
      [this, alive = alive_](const absl::Status& status) {
        if (!*alive) return;
        if (!status.ok()) {
          LogWarning("arrivals at the rendezvous cannot be recorded",
                     {{"error", status.ToString()}});
        }
        arrivals_on_way_ = false;
        WriteArrivals();
      });
}

SupervisorClient::Callbacks AttemptRunner::MakeCallbacks() {
  return {[this](const SupervisorEvent& event) { OnEvent(event); },
          [this](const std::string& reason) { OnLost(reason); }};
}

void AttemptRunner::RollBack(const absl::Status& status) {
  store_ = {};
  context_->disk->Run(
      [state_dir = context_->state_dir, ref = ref_] {
        if (const absl::Status removed = RemoveAttemptFiles(state_dir, ref); !removed.ok()) {
          LogWarning("files of a refused attempt stay behind", {{"error", removed.ToString()}});
        }
      },
      [this, alive = alive_, status] {
        if (!*alive || abandoned_) return;
        preparing_ = false;
        if (stopped_) {
          context_->observer->OnReturned(ref_, {});
        } else {
          context_->observer->OnPrepared({ref_, status, "", 0, true});
        }
      });
}

void AttemptRunner::Adopt(const AttemptFile& file) {
  first_rank_ = file.first_rank;
  ranks_ = file.ranks;
  auto attached = SupervisorClient::Attach(context_->loop, dir_, MakeCallbacks());
  SyncFilesSoon();
  if (attached.ok()) {
    supervisor_ = *std::move(attached);
    ReopenStore();
    if (const auto record = ReadWitnessRecord(record_dir_)) BeginWitnessing(*record);
    return;
  }
  LogWarning("the supervisor of an attempt is gone",
             {{"attempt", ref_.ToString()}, {"error", attached.status().ToString()}});
  // It ended since the attempts were looked for, when it was still there.
  TakeLoss(LossInWords(""));
  KillLeftoversUntilGone();
}

void AttemptRunner::Start(const worker::Start& start, absl::Duration vouch_limit) {
  if (supervisor_ == nullptr) return;
  if (start.store_host == StoreHost::kRank0) store_.server.reset();
  if (start.witnessed) {
    constexpr int kQuestions = 8;  // in the time that an answer holds
    const WitnessRecord record{prepare_.node_rank,
                               static_cast<int32_t>(prepare_.peers.size()),
                               prepare_.peers.at(static_cast<size_t>(prepare_.node_rank)).address,
                               start.master_addr,
                               start.master_port,
                               vouch_limit / kQuestions};
    context_->state->Run(
        [dir = record_dir_, record, ref = ref_] {
          const absl::Status status = WriteWitnessRecord(dir, record);
          if (status.ok()) return;
          LogWarning("a restarted worker will not vouch for an attempt",
                     {{"attempt", ref.ToString()}, {"error", status.ToString()}});
        },
        [] {});
    BeginWitnessing(record);
  }
  const KeyValues added = MakeStartEnvironment(prepare_, start);
  StartRanks command;
  for (const auto& [key, value] : added) command.env.push_back(key + "=" + value);
  if (const absl::Status sent = supervisor_->Send(command); !sent.ok()) {
    LogError("ranks cannot be started", {{"attempt", ref_.ToString()}, {"error", sent.ToString()}});
    return;
  }
  EnvironmentReport& report =
      environment_.emplace(EnvironmentReport{ref_, plan_.python.facts, plan_.ranks.added});
  report.facts.emplace_back("os", inventory_.host.os);
  report.facts.emplace_back("kernel", inventory_.host.kernel);
  if (!inventory_.driver.empty()) report.facts.emplace_back("driver", inventory_.driver);
  report.facts.emplace_back("hpc-worker", Version());
  report.added.insert(report.added.end(), added.begin(), added.end());
  context_->loop->Post(
      [observer = context_->observer, report] { observer->OnEnvironment(report); });
}

void AttemptRunner::ReportAgain() {
  if (environment_) context_->observer->OnEnvironment(*environment_);
  ReportRendezvous();
}

void AttemptRunner::Stop(absl::Duration grace, const std::string& reason, HaltKind halt) {
  const bool first = !std::exchange(stopped_, true);
  *unwanted_ = true;
  // Without a supervisor the preparation, or what kills the left-overs, comes to its end by itself.
  if (supervisor_ == nullptr) {
    if (preparing_ && first) {
      patience_ = context_->loop->At(context_->loop->clock().Get().mono + kDiskPatience,
                                     [this] { AbandonPreparation(); });
    }
    return;
  }
  const StopRanks command{absl::ToInt64Milliseconds(grace), StopWords(halt, reason)};
  ExpectEnd(grace);
  const absl::Status sent = supervisor_->Send(command);
  if (sent.ok() || absl::IsUnavailable(sent)) return;
  LogError("ranks cannot be stopped; trying again",
           {{"attempt", ref_.ToString()}, {"error", sent.ToString()}});
  if (retry_ != 0) context_->loop->Cancel(retry_);
  retry_ = context_->loop->At(context_->loop->clock().Get().mono + kKillRetry,
                              [this, grace, reason, halt] { Stop(grace, reason, halt); });
}

void AttemptRunner::AbandonPreparation() {
  patience_ = 0;
  if (!preparing_) return;
  LogWarning("an attempt is given up while a disk keeps it from being prepared",
             {{"attempt", ref_.ToString()}});
  abandoned_ = true;
  store_ = {};
  context_->observer->OnReturned(ref_, {});
}

// The ranks can stop their supervisor if all of us are of one account.
void AttemptRunner::ExpectEnd(absl::Duration grace) {
  const MonoTime limit = context_->loop->clock().Get().mono + grace + context_->obedience;
  if (obedience_ != 0 && limit >= obedience_limit_) return;
  context_->loop->Cancel(obedience_);
  obedience_limit_ = limit;
  obedience_ = context_->loop->At(limit, [this] {
    obedience_ = 0;
    if (supervisor_ == nullptr) return;
    LogWarning("a supervisor does not do as it was told and is killed",
               {{"attempt", ref_.ToString()}});
    supervisor_->Kill();
  });
}

void AttemptRunner::ExtendLease() {
  if (supervisor_ == nullptr) return;
  // One that is lost is made up for by the next.
  (void)supervisor_->Send(worker::ExtendLease{});
}

void AttemptRunner::SetFence(int64_t at_ns) {
  if (supervisor_ == nullptr) return;
  // One that is lost is made up for by the next.
  (void)supervisor_->Send(worker::Fence{at_ns});
  fence_ns_ = at_ns;
  if (fence_timer_ == 0) WatchFence();
}

// Looks at it when it would have been kept, and not each time that it is moved.
void AttemptRunner::WatchFence() {
  const absl::Duration left = absl::Nanoseconds(fence_ns_ - BootTimeNs()) + kFenceSlack;
  fence_timer_ = context_->loop->At(context_->loop->clock().Get().mono + left, [this] {
    fence_timer_ = 0;
    if (absl::Nanoseconds(BootTimeNs() - fence_ns_) < kFenceSlack) return WatchFence();
    // Should we have stood still: what it has said meanwhile is heard first.
    fence_timer_ = context_->loop->At(context_->loop->clock().Get().mono + kFenceHearing,
                                      [this] { OnFencePassed(); });
  });
}

// The ranks, or root, can stop it with a signal.
void AttemptRunner::OnFencePassed() {
  fence_timer_ = 0;
  if (supervisor_ == nullptr) return;
  LogWarning("a supervisor does not do as it was told and is killed",
             {{"attempt", ref_.ToString()}, {"reason", "fence"}});
  supervisor_->Kill();
}

void AttemptRunner::OnEvent(const SupervisorEvent& event) {
  std::visit(
      [this](const auto& one) {
        if constexpr (requires { one.rank; }) {
          // What the supervisor says is no better than the account that it runs as.
          if (one.rank < first_rank_ || one.rank - first_rank_ >= ranks_) return;
        }
        On(one);
      },
      event);
}

void AttemptRunner::On(const SupervisorReady& event) {
  LogDebug("supervisor is ready",
           {{"attempt", ref_.ToString()}, {"pid", event.pid}, {"containment", event.containment}});
}

void AttemptRunner::On(const RankStarted& event) {
  started_[event.rank] = event;
  context_->observer->OnRankStarted(ref_, event.rank, event.pid, AgeOf(event.at_ns));
}

void AttemptRunner::On(const RankStartFailed& event) {
  context_->observer->OnRankExited(ref_, event.rank, ToRankExit(event), {});
}

void AttemptRunner::On(const RankExited& event) {
  ended_.insert(event.rank);
  const auto [it, inserted] = pending_.try_emplace(event.rank);
  if (!inserted) return;
  PendingExit& pending = it->second;
  pending.exit = ToRankExit(event);
  pending.at_ns = event.at_ns;
  pending.within_ns = looked_ns_ == 0 ? 0 : std::max<int64_t>(event.at_ns - looked_ns_, 0);
  if (pending.exit.exit_code == 0 || ExplainByErrorFile(dir_, event.rank, &pending.exit)) {
    return ReportExit(event.rank);
  }
  pending.timer = context_->loop->At(context_->loop->clock().Get().mono + kLastWords,
                                     [this, rank = event.rank] { ReportExit(rank); });
}

void AttemptRunner::ReportExit(int32_t rank) {
  const auto it = pending_.find(rank);
  if (it == pending_.end()) return;
  PendingExit pending = std::move(it->second);
  pending_.erase(it);
  context_->loop->Cancel(pending.timer);
  ExplainExit(dir_, rank, &pending.exit);
  const absl::Duration ended = AgeOf(pending.at_ns);
  const absl::Duration ran =
      absl::Nanoseconds(pending.at_ns) - absl::Nanoseconds(started_[rank].at_ns);
  context_->observer->OnRankExited(ref_, rank, pending.exit,
                                   {ended + ran, ended, absl::Nanoseconds(pending.within_ns)});
}

void AttemptRunner::ReportAllExits() {
  while (!pending_.empty()) ReportExit(pending_.begin()->first);
}

void AttemptRunner::On(const OutputGrown& event) {
  context_->observer->OnOutput(ref_, event);
  if (event.is_stderr && event.ended) ReportExit(event.rank);
}

void AttemptRunner::On(const StopBegan& event) {
  if (event.reason == "fence") context_->loop->Cancel(std::exchange(fence_timer_, 0));
  if (!IsItsOwnReason(event.reason)) return;
  context_->observer->OnStoppedItself(ref_, HaltOfStop(event, BootTimeNs()));
}

void AttemptRunner::On(const AllGone& event) {
  context_->loop->Cancel(std::exchange(fence_timer_, 0));
  LogInfo("attempt is over", {{"attempt", ref_.ToString()},
                              {"killed", event.killed},
                              {"stop_ms", event.kill_ns / 1'000'000}});
  held_cgroup_ = supervisor_->held_cgroup();
  left_ = supervisor_->Release();
  // Its word is not enough where we can see for ourselves.
  KillLeftoversUntilGone();
}

void AttemptRunner::AddDoing(size_t most, std::vector<RankDoing>* doing) const {
  const auto add = [&](int32_t rank, int64_t pid) {
    std::string words = doing->size() < most ? ProcessWords(pid) : "";
    if (!words.empty()) doing->push_back({ref_, rank, std::move(words)});
  };
  for (const int64_t pid : survivors_) add(-1, pid);
  for (const auto& [rank, started] : started_) {
    if (ended_.count(rank) == 0) add(rank, started.pid);
  }
}

void AttemptRunner::On(const NotGone& event) {
  survivors_ = event.pids;
  // It is at work, and says so again before long.
  context_->loop->Cancel(std::exchange(obedience_, 0));
  ExpectEnd(absl::ZeroDuration());
  if (std::exchange(not_gone_logged_, true)) return;
  LogWarning("processes survive SIGKILL: their devices are not returned",
             {{"attempt", ref_.ToString()}, {"pids", absl::StrJoin(event.pids, ",")}});
}

void AttemptRunner::On(const Shortage& event) {
  if (event.error == 0) {
    LogInfo("output of ranks is kept again", {{"attempt", ref_.ToString()}});
  } else {
    LogWarning("an attempt's supervisor lacks something",
               {{"attempt", ref_.ToString()}, {"problem", InWords(event)}});
  }
}

void AttemptRunner::OnLost(const std::string& reason) {
  context_->loop->Cancel(std::exchange(fence_timer_, 0));
  LogWarning("an attempt's supervisor ended", {{"attempt", ref_.ToString()},
                                               {"reason", reason},
                                               {"dir", dir_},
                                               {"last_words", LastWords(dir_)}});
  held_cgroup_ = supervisor_->held_cgroup();
  left_ = supervisor_->Release();
  ReportAllExits();
  TakeLoss(reason);
  KillLeftoversUntilGone();
}

void AttemptRunner::TakeLoss(const std::string& reason) {
  lost_ = {HaltKind::kSupervisorLost, reason};
  lost_at_ = context_->loop->clock().Get().mono;
  lost_.within = lost_at_ - context_->loop->waited_since();
}

void AttemptRunner::KillLeftoversUntilGone() {
  retry_ = 0;
  std::vector<RankStarted> seen;
  for (const auto& [rank, started] : started_) seen.push_back(started);
  struct Look {
    bool alone = false;  // nothing is there but the supervisor
    absl::Status killed;
  };
  const int64_t waits = left_ && left_->socket.ok() ? left_->pid : 0;
  context_->system->Ask<Look>(
      [ref = ref_, dir = dir_, held = held_cgroup_, seen, waits]() -> Look {
        if (waits != 0 && HoldsNothingBut(held, waits)) return {true, absl::OkStatus()};
        return {false, KillLeftovers(ref.ToString(), dir, seen, held)};
      },
      [this, alive = alive_](const Look& look) {
        if (!*alive) return;
        if (look.killed.ok()) {
          GiveBackSupervisor(look.alone);
          lost_.ago = context_->loop->clock().Get().mono - lost_at_;
          return Returned(lost_);
        }
        if (!std::exchange(not_gone_logged_, true)) {
          LogWarning("what a supervisor left behind is still there",
                     {{"attempt", ref_.ToString()}, {"error", look.killed.ToString()}});
        }
        retry_ = context_->loop->At(context_->loop->clock().Get().mono + kKillRetry,
                                    [this] { KillLeftoversUntilGone(); });
      });
}

// `alone`: nothing but the supervisor was seen in its cgroup. Whether it has something to put away,
// and then ends, only it can say.
void AttemptRunner::GiveBackSupervisor(bool alone) {
  if (!left_) return;
  const MonoTime now = context_->loop->clock().Get().mono;
  proved_gone_ = alone && HearIdle(left_->socket.get(), 0);
  if (proved_gone_ && context_->keep_supervisors) {
    context_->spawner->Keep(*std::exchange(left_, std::nullopt), now);
    return;
  }
  // It may take a moment, and its socket's file is on a disk.
  auto left = std::make_shared<SpawnedSupervisor>(*std::exchange(left_, std::nullopt));
  context_->upkeep->Run(
      [left, alone, keep = context_->keep_supervisors, now, spawner = context_->spawner] {
        if (alone && HearIdle(left->socket.get(), kIdlePatienceMs) && keep) {
          spawner->Keep(std::move(*left), now);
        } else {
          SupervisorSpawner::End(std::move(*left));
        }
      },
      [] {});
}

void AttemptRunner::Returned(const Halt& halt) {
  context_->loop->Cancel(std::exchange(obedience_, 0));
  ReportAllExits();
  // The nodes of a witnessed attempt vouch for one another until it is over on all of them.
  if (witness_ == nullptr) {
    store_ = {};
  } else if (store_.server != nullptr) {
    store_.server->SendClientsAway();
  }
  context_->observer->OnReturned(ref_, halt);
}

void AttemptRunner::ReportRendezvous() {
  if (store_.server == nullptr) return;
  const StoreStatus status = store_.server->Status();
  RendezvousReport report{ref_, {}, status.blocked_key, status.waiting};
  for (const StoreStatus::Arrival& arrival : status.arrivals) {
    report.arrivals.emplace_back(arrival.address, arrival.pid);
  }
  RecordArrivals(static_cast<int32_t>(report.arrivals.size()));
  context_->observer->OnRendezvous(report);
}

}  // namespace hpc::worker
