#include "worker/attempts/attempt_runner.h"

#include <signal.h>
#include <sys/stat.h>
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
#include "worker/os/shared_memory.h"
#include "worker/supervisor/protocol/order.h"
#include "worker/supervisor_client/held_cgroup.h"
#include "worker/supervisor_client/leftovers.h"

namespace hpc::worker {
namespace {

// An attempt must last this long for its files to be worth a wait for the disk.
constexpr absl::Duration kSyncAfter = absl::Seconds(1);
constexpr absl::Duration kKillRetry = absl::Seconds(1);
// How long a stop waits for a preparation in progress.
constexpr absl::Duration kDiskPatience = absl::Seconds(2);
// How long a supervisor that reported the end of its attempt may take to say that it is idle.
constexpr int kIdlePatienceMs = 100;
// How long the worker of rank 0's node may be silent before that is told.
constexpr absl::Duration kSilence = absl::Seconds(2);

absl::Duration AgeOf(int64_t at_ns) { return EventAge(at_ns, BootTimeNs()); }

// The account is the owner of the attempt's folder. What our own account has in shared memory may
// be of other programs of its user.
void RemoveSharedMemoryOf(AttemptRef ref, const std::string& dir) {
  struct stat info;
  if (stat(dir.c_str(), &info) != 0 || info.st_uid == geteuid()) return;
  const SharedMemoryRemoved removed = RemoveSharedMemory(kSharedMemoryDir, info.st_uid);
  if (removed.files == 0) return;
  LogInfo("shared memory that nobody uses any more was removed",
          {{"attempt", ref.ToString()}, {"files", removed.files}, {"bytes", removed.bytes}});
}

}  // namespace

AttemptRunner::AttemptRunner(const RunnerContext* context, AttemptRef ref)
    : context_(context),
      ref_(ref),
      dir_(RanksDir(context->state_dir, ref)),
      record_dir_(AttemptDir(context->state_dir, ref)),
      gang_(context->loop, context->state, ref, record_dir_, MakeGangCallbacks()),
      watch_(context->loop, dir_,
             [this](int32_t rank, const protocol::RankExit& exit, protocol::RankAges ago) {
               context_->observer->OnRankExited(ref_, rank, exit, ago);
             }),
      fence_(context->loop, [this] { Disobeys("fence"); }) {}

AttemptRunner::~AttemptRunner() {
  *alive_ = false;
  *unwanted_ = true;
  if (retry_ != 0) context_->loop->Cancel(retry_);
  context_->loop->Cancel(sync_timer_);
  context_->loop->Cancel(must_end_timer_);
  context_->loop->Cancel(disk_timer_);
}

GangServices::Callbacks AttemptRunner::MakeGangCallbacks() {
  return {{[this] { return context_->observer->VouchFor(ref_); },
           [this](MonoTime at) { context_->observer->OnWhole(ref_, at); },
           [this](MonoTime at) { context_->observer->OnHeardAll(ref_, at); }},
          [this](const protocol::RendezvousReport& report) {
            context_->observer->OnRendezvous(report);
          }};
}

PrepareContext AttemptRunner::MakeContext(const protocol::Prepare& prepare,
                                          const protocol::Inventory& inventory) const {
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
  facts.has_amd_gpu = context_->has_amd_gpu;
  facts.has_gpus = HasGpus(inventory);
  facts.hpc_py_dir = context_->hpc_py_dir;
  facts.attempt_dir = dir_;
  facts.run_dir = RunDir(context_->state_dir, ref_.run);
  facts.own_env = context_->own_env;
  facts.rank_env = context_->rank_env;
  for (int32_t index : prepare.devices) {
    const protocol::Device& device = inventory.devices.at(static_cast<size_t>(index));
    if (device.kind == protocol::DeviceKind::kGpu) facts.gpus.push_back(device.index);
  }
  return context;
}

void AttemptRunner::Prepare(const protocol::Prepare& prepare, const protocol::Inventory& inventory,
                            absl::Duration lease) {
  prepare_ = prepare;
  first_rank_ = prepare.first_rank;
  ranks_ = prepare.ranks;
  inventory_ = inventory;
  preparing_ = true;
  protocol::Prepared prepared{ref_, absl::OkStatus(), "", 0, true};
  if (const absl::Status opened = OpenStore(&prepared); !opened.ok()) {
    return RollBack(OfThisNode(context_->node, opened));
  }
  LaunchOrder order{prepare,
                    MakeContext(prepare, inventory),
                    lease,
                    gang_.store_record(),
                    context_->keep_supervisors && context_->keep_warm > absl::ZeroDuration(),
                    context_->host,
                    context_->spawner,
                    unwanted_};
  context_->disk->Ask<worker::Launch>(
      [order = std::move(order)]() mutable { return LaunchAttempt(std::move(order)); },
      [this, alive = alive_, upkeep = context_->upkeep, prepared](worker::Launch launch) {
        if (*alive && !abandoned_) return OnLaunch(prepared, std::move(launch));
        // The supervisor has no ranks, and nobody wants it any more.
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

void AttemptRunner::OnLaunch(protocol::Prepared prepared, worker::Launch launch) {
  plan_ = std::move(launch.plan);
  if (!plan_.status.ok()) return RollBack(plan_.status);
  if (!launch.supervisor.ok()) {
    return RollBack(OfThisNode(context_->node, launch.supervisor.status()));
  }
  preparing_ = false;
  supervisor_ =
      SupervisorClient::Take(context_->loop, *std::move(launch.supervisor), MakeCallbacks());
  SyncFilesSoon();
  if (stopped_) return Stop({.ref = ref_, .reason = "stopped before it was prepared"});
  prepared.store_client_ok = plan_.python.store_client_ok;
  prepared.recall = launch.recall;
  prepared.checkpoints = plan_.checkpoints;
  context_->observer->OnPrepared(prepared);
}

// Syncs the attempt's files a while after its start; nobody waits for that. If the power fails in
// the first moments, the end of a rank, or what it has saved, may be lost, as if the power had
// failed a moment earlier. Most attempts that are over by then have been reported to the
// coordinator.
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

absl::Status AttemptRunner::OpenStore(protocol::Prepared* prepared) {
  if (prepare_.node_rank != 0) return absl::OkStatus();
  // A user who has no account here is refused by the plan.
  const auto account = context_->accounts->Of(prepare_.user);
  const bool ours = !account.ok() || *account == nullptr;
  return gang_.Open(prepare_, ours ? geteuid() : (*account)->ids.uid, prepared);
}

void AttemptRunner::ReopenServices() {
  const absl::Status reopened = gang_.Reopen();
  if (reopened.ok()) return;
  context_->loop->Post([this, alive = alive_, why = std::string(reopened.message())] {
    if (*alive) context_->observer->OnDoomed(ref_, why);
  });
}

SupervisorClient::Callbacks AttemptRunner::MakeCallbacks() {
  return {[this](const SupervisorEvent& event) { OnEvent(event); },
          [this](const std::string& reason) { OnLost(reason); }};
}

void AttemptRunner::RollBack(const absl::Status& status) {
  gang_.Close();
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
          context_->observer->OnReturned(ref_, {}, 0);
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
    return ReopenServices();
  }
  LogWarning("the supervisor of an attempt is gone",
             {{"attempt", ref_.ToString()}, {"error", attached.status().ToString()}});
  // The supervisor ended after the attempts were looked for; it was still there then.
  TakeLoss(LossInWords(""));
  KillLeftoversUntilGone();
}

void AttemptRunner::Start(const protocol::Start& start, absl::Duration vouch_limit) {
  if (supervisor_ == nullptr) return;
  gang_.Start(prepare_, start, vouch_limit);
  const protocol::KeyValues added = MakeStartEnvironment(prepare_, start);
  StartRanks command;
  for (const auto& [key, value] : added) command.env.push_back(key + "=" + value);
  if (const absl::Status sent = supervisor_->Send(command); !sent.ok()) {
    LogError("ranks cannot be started", {{"attempt", ref_.ToString()}, {"error", sent.ToString()}});
    return;
  }
  protocol::EnvironmentReport& report = environment_.emplace(
      protocol::EnvironmentReport{ref_, plan_.python.facts, plan_.ranks.added});
  report.facts.emplace_back("os", inventory_.os);
  report.facts.emplace_back("kernel", inventory_.kernel);
  if (!inventory_.driver.empty()) report.facts.emplace_back("driver", inventory_.driver);
  report.facts.emplace_back("hpc-worker", Version());
  report.added.insert(report.added.end(), added.begin(), added.end());
  ReportEnvironment();
}

void AttemptRunner::ReportEnvironment() {
  context_->loop->Post(
      [observer = context_->observer, report = *environment_] { observer->OnEnvironment(report); });
}

void AttemptRunner::On(const StartedWarm& event) {
  if (!environment_) return;
  environment_->facts.emplace_back("start", event.warm ? "warm" : "cold: " + event.reason);
  ReportEnvironment();
}

void AttemptRunner::KeepNothing() {
  keeps_supervisor_ = false;
  if (supervisor_ != nullptr) (void)supervisor_->Send(worker::KeepNothing{});
}

void AttemptRunner::ReportAgain() {
  if (environment_) context_->observer->OnEnvironment(*environment_);
  gang_.ReportRendezvous();
}

void AttemptRunner::Stop(const StopAttempt& order) {
  const bool first = !std::exchange(stopped_, true);
  *unwanted_ = true;
  // Without a supervisor, the preparation, or the killing of left-overs, comes to its end by
  // itself.
  if (supervisor_ == nullptr) {
    if (preparing_ && first) {
      disk_timer_ = context_->loop->At(context_->loop->clock().Get().mono + kDiskPatience,
                                       [this] { AbandonPreparation(); });
    }
    return;
  }
  const StopRanks command{absl::ToInt64Milliseconds(order.grace),
                          StopWords(order.halt, order.reason), order.interrupt};
  ExpectEnd(order.grace);
  const absl::Status sent = supervisor_->Send(command);
  if (sent.ok() || absl::IsUnavailable(sent)) return;
  LogError("ranks cannot be stopped; trying again",
           {{"attempt", ref_.ToString()}, {"error", sent.ToString()}});
  if (retry_ != 0) context_->loop->Cancel(retry_);
  retry_ = context_->loop->At(context_->loop->clock().Get().mono + kKillRetry,
                              [this, order] { Stop(order); });
}

void AttemptRunner::AbandonPreparation() {
  disk_timer_ = 0;
  if (!preparing_) return;
  LogWarning("an attempt is given up while a disk keeps it from being prepared",
             {{"attempt", ref_.ToString()}});
  abandoned_ = true;
  gang_.Close();
  context_->observer->OnReturned(ref_, {}, 0);
}

// If ranks and supervisor have the same account, the ranks can stop their supervisor.
void AttemptRunner::ExpectEnd(absl::Duration grace) {
  const MonoTime limit = context_->loop->clock().Get().mono + grace + context_->obedience;
  if (must_end_timer_ != 0 && limit >= must_end_by_) return;
  context_->loop->Cancel(must_end_timer_);
  must_end_by_ = limit;
  must_end_timer_ = context_->loop->At(limit, [this] {
    must_end_timer_ = 0;
    Disobeys("stop");
  });
}

// Kills the supervisor, and its ranks with it.
void AttemptRunner::Disobeys(const char* order) {
  if (supervisor_ == nullptr) return;
  LogWarning("a supervisor does not do as it was told and is killed",
             {{"attempt", ref_.ToString()}, {"order", order}});
  supervisor_->Kill();
}

void AttemptRunner::ExtendLease() {
  if (supervisor_ == nullptr) return;
  // If this message is lost, the next one makes up for it.
  (void)supervisor_->Send(worker::ExtendLease{});
}

void AttemptRunner::SetFence(int64_t at_ns) {
  if (supervisor_ == nullptr) return;
  // If this message is lost, the next one makes up for it.
  (void)supervisor_->Send(worker::Fence{at_ns});
  fence_.Set(at_ns);
}

void AttemptRunner::OnEvent(const SupervisorEvent& event) {
  std::visit(
      [this](const auto& one) {
        if constexpr (requires { one.rank; }) {
          // The supervisor's account may make it say anything, so unknown ranks are ignored.
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
  watch_.Started(event);
  context_->observer->OnRankStarted(ref_, event.rank, event.pid, AgeOf(event.at_ns));
}

void AttemptRunner::On(const RankStartFailed& event) {
  context_->observer->OnRankExited(ref_, event.rank, ToRankExit(event), {});
}

void AttemptRunner::On(const OutputGrown& event) {
  context_->observer->OnOutput(ref_, event);
  if (event.is_stderr && event.ended) watch_.WordsEnded(event.rank);
}

void AttemptRunner::On(const StopBegan& event) {
  if (event.reason == "fence") fence_.Stop();
  if (!IsItsOwnReason(event.reason)) return;
  context_->observer->OnStoppedItself(ref_, HaltOfStop(event, BootTimeNs()));
}

void AttemptRunner::On(const AllGone& event) {
  fence_.Stop();
  LogInfo("attempt is over", {{"attempt", ref_.ToString()},
                              {"killed", event.killed},
                              {"stop_ms", event.kill_ns / 1'000'000}});
  killed_ = event.killed;
  held_cgroup_ = supervisor_->held_cgroup();
  left_ = supervisor_->Release();
  // The supervisor's word is not enough, since we can look for ourselves.
  KillLeftoversUntilGone();
}

void AttemptRunner::Describe(size_t most, protocol::Heartbeat* beat) const {
  const auto add = [&](int32_t rank, int64_t pid) {
    std::string words = beat->doing.size() < most ? ProcessWords(pid) : "";
    if (!words.empty()) beat->doing.push_back({ref_, rank, std::move(words)});
  };
  for (const int64_t pid : survivors_) add(-1, pid);
  for (const RankStarted& one : watch_.running()) add(one.rank, one.pid);
  auto silence = gang_.Silence();
  if (silence && silence->lasts >= kSilence) beat->silences.push_back(*std::move(silence));
}

void AttemptRunner::On(const NotGone& event) {
  survivors_ = event.pids;
  // The supervisor is at work, and will say so again before long.
  context_->loop->Cancel(std::exchange(must_end_timer_, 0));
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
  fence_.Stop();
  LogWarning("an attempt's supervisor ended", {{"attempt", ref_.ToString()},
                                               {"reason", reason},
                                               {"dir", dir_},
                                               {"last_words", LastWords(dir_)}});
  held_cgroup_ = supervisor_->held_cgroup();
  left_ = supervisor_->Release();
  watch_.TellAll();
  TakeLoss(reason);
  KillLeftoversUntilGone();
}

void AttemptRunner::TakeLoss(const std::string& reason) {
  lost_ = {protocol::HaltKind::kSupervisorLost, reason};
  lost_at_ = context_->loop->clock().Get().mono;
  lost_.within = lost_at_ - context_->loop->looked_at();
}

void AttemptRunner::KillLeftoversUntilGone() {
  retry_ = 0;
  struct Look {
    bool alone = false;  // only the supervisor is there
    absl::Status killed;
  };
  const int64_t waits = left_ && left_->socket.ok() ? left_->pid : 0;
  context_->system->Ask<Look>(
      [ref = ref_, dir = dir_, held = held_cgroup_, seen = watch_.started(), waits]() -> Look {
        const bool alone = waits != 0 && HoldsNothingBut(held, waits);
        const absl::Status killed =
            alone ? absl::OkStatus() : KillLeftovers(ref.ToString(), dir, seen, held);
        if (killed.ok()) RemoveSharedMemoryOf(ref, dir);
        return {alone, killed};
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

// `alone`: only the supervisor was seen in its cgroup. It alone can say whether it still has
// something to store, after which it ends.
void AttemptRunner::GiveBackSupervisor(bool alone) {
  if (!left_) return;
  const MonoTime until = context_->loop->clock().Get().mono +
                         (left_->command.empty() ? context_->keep_idle : context_->keep_warm);
  const bool keep = context_->keep_supervisors && keeps_supervisor_;
  proved_gone_ = alone && HearIdle(left_->socket.get(), 0);
  if (proved_gone_ && keep) {
    context_->spawner->Keep(*std::exchange(left_, std::nullopt), until);
    return;
  }
  // This may take a moment, and the file of its socket is on a disk.
  auto left = std::make_shared<SpawnedSupervisor>(*std::exchange(left_, std::nullopt));
  context_->upkeep->Run(
      [left, alone, keep, until, spawner = context_->spawner] {
        if (alone && HearIdle(left->socket.get(), kIdlePatienceMs) && keep) {
          spawner->Keep(std::move(*left), until);
        } else {
          SupervisorSpawner::End(std::move(*left));
        }
      },
      [] {});
}

void AttemptRunner::Returned(const protocol::Halt& halt) {
  context_->loop->Cancel(std::exchange(must_end_timer_, 0));
  watch_.TellAll();
  context_->observer->OnReturned(ref_, halt, killed_);
}

}  // namespace hpc::worker
