#include "worker/runtime/engine.h"

#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/process/log.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/attempts/adoption.h"
#include "worker/attempts/attempt_files.h"
#include "worker/attempts/run_dirs.h"
#include "worker/loop/boot_time.h"
#include "worker/owner/owner_file.h"
#include "worker/runtime/told_to_end.h"

namespace hpc::worker {
namespace {

// How long an exit waits for its last words to be delivered.
constexpr absl::Duration kGoodbye = absl::Seconds(1);

// How many ranks a heartbeat tells about. This is enough for any gang of a PC, and small enough to
// cost nothing.
constexpr size_t kRanksLookedAt = 64;

constexpr absl::Duration kSweepEvery = absl::Hours(1);
// How long a supervisor waits for another attempt. Where many short runs follow each other, the
// next one comes sooner.

// Converts a past time of CLOCK_BOOTTIME.
MonoTime OnMonotonicClock(MonoTime at, Now now) {
  return now.mono - (absl::Nanoseconds(BootTimeNs()) - at.since_zero);
}

bool HasRdmaDevice() {
  std::error_code ignored;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", ignored);
  return !ignored && devices != std::filesystem::directory_iterator();
}

// Asks for the device of AMD's kernel driver.
bool HasAmdGpu() { return access("/dev/kfd", F_OK) == 0; }

absl::Status CheckPlacement(const std::string& node, const protocol::Prepare& prepare,
                            const protocol::Inventory& inventory) {
  if (prepare.node_rank < 0 || static_cast<size_t>(prepare.node_rank) >= prepare.peers.size() ||
      prepare.ranks < 1 || prepare.first_rank < 0) {
    return absl::FailedPreconditionError(node + ": the placement contradicts itself");
  }
  for (const int32_t device : prepare.devices) {
    if (device < 0 || static_cast<size_t>(device) >= inventory.devices.size()) {
      return absl::UnavailableError(absl::StrCat(node, ": there is no device ", device, "; it has ",
                                                 Count(inventory.devices.size(), "device")));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Engine::Engine(EventLoop* loop, const EngineOptions& options, const Machine& machine, Link* link)
    : loop_(loop),
      options_(options),
      machine_(machine),
      link_(link),
      disk_(loop),
      upkeep_(loop),
      state_(loop),
      system_(loop),
      power_(loop),
      owner_keeper_(&state_, options.state_dir),
      owners_waiting_(&owner_keeper_),
      surroundings_(&system_, machine.host, machine.devices, options.told),
      output_(
          loop, [this](protocol::WorkerMessage message) { Send(message); },
          [this](AttemptRef ref) { DeleteFiles(ref); }),
      random_(options.incarnation),
      outbox_(link) {
  context_ = {.loop = loop,
              .disk = &disk_,
              .upkeep = &upkeep_,
              .state = &state_,
              .system = &system_,
              .host = machine.host,
              .python = machine.python,
              .observer = this,
              .node = options.node,
              .state_dir = options.state_dir,
              .accounts = &options_.accounts,
              .obedience = options.obedience,
              .supervisor_program = options.supervisor_program,
              .spawner = std::make_shared<SupervisorSpawner>(options.supervisor_program,
                                                             options.state_dir + "/supervisors"),
              .spares = options.reuse ? std::make_shared<SpareFolders>(options.state_dir) : nullptr,
              .keep_supervisors = options.reuse,
              .keep_warm = options.keep_warm,
              .hpc_py_dir = options.hpc_py_dir,
              .own_env = options.own_env,
              .rank_env = options.rank_env,
              .has_rdma = HasRdmaDevice(),
              .has_amd_gpu = HasAmdGpu()};
  link_->SetCallbacks({[this](const protocol::CoordinatorMessage& message) { OnMessage(message); },
                       [this](const absl::Status& why) { OnLinkClosed(why); }});
  loop_->SetAfterRound([this] { AfterRound(); });
}

Engine::~Engine() {
  loop_->SetAfterRound({});
  loop_->Cancel(timer_);
  link_->Close();
}

absl::Status Engine::Start() {
  HPC_ASSIGN_OR_RETURN(const OwnerState owner, ReadOwnerFile(options_.state_dir));
  const std::vector<FoundAttempt> found = FindAttempts(options_.state_dir);
  // What runs without a supervisor was killed meanwhile, which takes its time.
  const Now now = loop_->clock().Get();
  std::vector<AdoptedAttempt> adopted;
  for (const FoundAttempt& one : found) {
    adopted.push_back(one.attempt);
    adopted.back().Age(absl::Nanoseconds(BootTimeNs() - one.read_ns));
  }
  agent_ = std::make_unique<Agent>(
      options_.node, now, owner, adopted,
      ReadToldToEnd(options_.state_dir, surroundings_.boot_id(), BootTimeNs()));
  for (const FoundAttempt& one : found) {
    const AttemptRef ref = one.attempt.ref;
    output_.Add(ref, one.dir, AttemptDir(options_.state_dir, ref), one.file.RankNumbers(),
                /*known=*/true);
    for (OutputGrown output : one.outputs) {
      // The journal's reader assumes that its writer is gone, and so that all output has ended.
      output.ended = one.attempt.returned;
      output_.OnOutput(ref, output);
    }
    LogInfo("found an attempt again",
            {{"attempt", ref.ToString()}, {"over", one.attempt.returned ? "yes" : "no"}});
    if (one.attempt.returned) {
      output_.OnReturned(ref);
      // The end of the attempt is still to be told, and the worker that saw its beginning may not
      // have synced its files.
      upkeep_.Run([state_dir = options_.state_dir, spares = context_.spares,
                   ref] { (void)SyncAttemptFiles(state_dir, ref, spares.get()); },
                  [] {});
      continue;
    }
    auto& runner = runners_[ref];
    runner = std::make_unique<AttemptRunner>(&context_, ref);
    runner->Adopt(one.file);
  }
  SweepRunDirs();
  Tick();
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------------ deciding

void Engine::Decide(const std::function<void(Now, Effects*)>& event) {
  if (!deciding_) NoticeSuspension();
  Effects fresh;
  event(loop_->clock().Get(), &fresh);
  effects_.insert(effects_.end(), std::make_move_iterator(fresh.begin()),
                  std::make_move_iterator(fresh.end()));
  if (deciding_) return;
  deciding_ = true;
  // Carrying out an effect may bring further ones, which go to the back of the queue.
  while (!effects_.empty()) {
    const Effect effect = std::move(effects_.front());
    effects_.pop_front();
    std::visit([this](const auto& one) { Do(one); }, effect);
  }
  deciding_ = false;
  SetTimer();
}

// This comes before any decision: after a suspension, earlier readings of the monotonic clock mean
// other times.
void Engine::NoticeSuspension() {
  if (const absl::Duration slept = surroundings_.TakeSuspended(); slept > absl::ZeroDuration()) {
    Decide([&](Now now, Effects* effects) { agent_->OnResumed(now, slept, effects); });
  }
}

// If this is true, what has just come from a link belongs to a link that was given up.
bool Engine::SuspensionEndsLink() {
  const uint64_t opening = outbox_.opening();
  NoticeSuspension();
  return opening != outbox_.opening();
}

void Engine::Tick() {
  Decide([this](Now now, Effects* effects) { agent_->Tick(now, effects); });
}

void Engine::SetTimer() {
  loop_->Cancel(timer_);
  timer_ = 0;
  const MonoTime next = agent_->NextDeadline();
  if (next != MonoTime::Infinite()) timer_ = loop_->At(next, [this] { Tick(); });
}

void Engine::AfterRound() {
  output_.Pump();
  owners_waiting_.Answer(loop_->clock().Get().mono, agent_->live_attempts() == 0);
  ExitWhenReady();
  link_->Flush();
}

// -------------------------------------------------------------------------------- the coordinator

protocol::Hello Engine::Introduce(protocol::Hello hello) const {
  hello.node = options_.node;
  hello.incarnation = options_.incarnation;
  hello.boot_id = surroundings_.boot_id();
  hello.address = address_;
  hello.can_vouch = true;
  hello.inventory = surroundings_.inventory();
  return hello;
}

void Engine::Do(const OpenLink& effect) {
  protocol::Hello hello = effect.hello;
  hello.said = absl::Nanoseconds(BootTimeNs());
  const uint64_t opening = outbox_.Hold();
  surroundings_.Look(options_.route->next(), [this, hello = std::move(hello),
                                              opening](absl::StatusOr<std::string> address) {
    if (!outbox_.Holds(opening)) return;
    if (loop_->clock().Get().mono >= agent_->connection().SilenceLimit()) CloseUnusedStores();
    if (!options_.address.empty()) address = options_.address;
    if (!address.ok()) return OnLinkClosed(address.status());
    address_ = *address;
    link_->Open(Introduce(hello));
    outbox_.Release();
  });
}

void Engine::Do(const CloseLink& effect) {
  options_.route->OnClosed(absl::DeadlineExceededError(effect.reason)).IgnoreError();
  outbox_.Drop();
  link_->Close();
  output_.OnDisconnected();
}

void Engine::Do(const SayHeartbeat& effect) {
  surroundings_.Heartbeat(loop_->clock().Get().mono, [this] {
    if (agent_->connection().connected()) link_->SendInventory(surroundings_.inventory());
  });
  protocol::Heartbeat beat;
  for (const auto& [ref, runner] : runners_) runner->Describe(kRanksLookedAt, &beat);
  link_->SendHeartbeat(surroundings_.TakeUsage(), beat, effect.answer_may_wait);
  KeepAwake();
}

void Engine::KeepAwake() {
  const MonoTime now = loop_->clock().Get().mono;
  const bool busy = !runners_.empty() && !agent_->yield().reclaimed();
  busy_since_ = busy ? std::min(busy_since_, now) : MonoTime::Infinite();
  machine_.power->KeepAwake(busy && now - busy_since_ >= options_.keep_awake_after);
}

void Engine::OnMessage(const protocol::CoordinatorMessage& message) {
  if (const auto* log = std::get_if<protocol::LogAck>(&message)) return output_.OnAck(*log);
  if (const auto* metric = std::get_if<protocol::MetricAck>(&message))
    return output_.OnAck(*metric);
  if (SuspensionEndsLink()) return;
  Decide([&](Now now, Effects* effects) {
    const auto* heard = std::get_if<protocol::Heard>(&message);
    agent_->OnMessage(
        now, heard == nullptr ? message : protocol::Heard{OnMonotonicClock(heard->sent, now)},
        effects);
  });
  if (std::holds_alternative<protocol::Welcome>(message)) OnWelcome();
}

void Engine::OnWelcome() {
  options_.route->OnAnswered();
  LogInfo("connected", {{"coordinator", options_.route->next().ToString()},
                        {"node", options_.node},
                        {"address", address_}});
  output_.OnConnected();
  for (auto& [ref, runner] : runners_) runner->ReportAgain();
  if (on_welcome_) on_welcome_(address_);
}

void Engine::OnLinkClosed(const absl::Status& why) {
  if (SuspensionEndsLink()) return;
  outbox_.Drop();
  output_.OnDisconnected();
  if (goodbye_said_ && on_exit_) return std::exchange(on_exit_, nullptr)();
  const double jitter = std::uniform_real_distribution<double>(0, 1)(random_);
  const absl::Status reason = options_.route->OnClosed(
      why.ok() ? absl::UnavailableError("the coordinator ended the connection") : why);
  Decide([&](Now now, Effects* effects) { agent_->OnLinkClosed(now, reason, jitter, effects); });
}

// ------------------------------------------------------------------------------------- attempts

void Engine::Do(const PrepareAttempt& effect) {
  const protocol::Prepare& prepare = effect.prepare;
  if (const absl::Status placement =
          CheckPlacement(options_.node, prepare, surroundings_.inventory());
      !placement.ok()) {
    return OnPrepared({prepare.ref, placement, "", 0, true});
  }
  auto& runner = runners_[prepare.ref];
  runner = std::make_unique<AttemptRunner>(&context_, prepare.ref);
  AttemptFile file;
  file.first_rank = prepare.first_rank;
  file.ranks = prepare.ranks;
  output_.Add(prepare.ref, RanksDir(options_.state_dir, prepare.ref),
              AttemptDir(options_.state_dir, prepare.ref), file.RankNumbers(), /*known=*/false);
  runner->Prepare(prepare, surroundings_.inventory(), agent_->connection().SupervisorLease());
}

void Engine::Do(const StartAttempt& effect) {
  const auto it = runners_.find(effect.start.ref);
  if (it != runners_.end())
    it->second->Start(effect.start, agent_->connection().welcome().vouch_limit);
}

void Engine::Do(const StopAttempt& effect) {
  const auto it = runners_.find(effect.ref);
  if (it == runners_.end()) return;
  LogInfo("stopping an attempt", {{"attempt", effect.ref.ToString()},
                                  {"reason", effect.reason},
                                  {"grace_s", absl::ToDoubleSeconds(effect.grace)}});
  it->second->Stop(effect);
}

// The output may have to wait long for its acknowledgement, and the store need not.
void Engine::Do(const DropAttempt& effect) {
  const auto it = runners_.find(effect.ref);
  if (it != runners_.end()) it->second->services().Close();
  output_.DropWhenDone(effect.ref);
}

// While the coordinator is away it cannot say that an attempt is over. Ranks that live keep their
// connections, and so do nodes that vouch.
void Engine::CloseUnusedStores() {
  for (auto& [ref, runner] : runners_) runner->services().CloseUnused();
}

void Engine::Do(const ExtendLeases&) {
  for (auto& [ref, runner] : runners_) runner->ExtendLease();
}

void Engine::Do(const RecallRanks& effect) {
  const protocol::Recall& recall = effect.recall;
  LogInfo("ending ranks on a node that is lost",
          {{"attempt", recall.ref.ToString()}, {"node", recall.node}});
  const uint64_t number = ++recalls_begun_;
  auto done = [this, number, ref = recall.ref, node = recall.node](const absl::Status& status) {
    if (!status.ok()) LogWarning("ranks on a lost node are not ended", {{"why", status.message()}});
    recalls_.erase(number);
    Decide([&](Now, Effects* effects) { agent_->OnRecalled({ref, node, status}, effects); });
  };
  recalls_[number] = std::make_unique<RecallCall>(loop_, address_, recall, std::move(done));
}

void Engine::Do(const SetFence& effect) {
  const auto it = runners_.find(effect.ref);
  if (it == runners_.end()) return;
  const absl::Duration left = effect.until - loop_->clock().Get().mono;
  it->second->SetFence(BootTimeNs() + absl::ToInt64Nanoseconds(left));
}

void Engine::DeleteFiles(AttemptRef ref) {
  const auto runner = runners_.find(ref);
  const bool proved_gone = runner != runners_.end() && runner->second->proved_gone();
  runners_.erase(ref);
  const auto tell = [](const absl::Status& removed) {
    if (removed.ok()) return;
    LogWarning("files of an attempt stay behind", {{"error", removed.ToString()}});
  };
  const auto drop = [this, ref] { agent_->OnDropped(ref); };
  upkeep_.Run(
      [state_dir = options_.state_dir, spares = context_.spares, ref, proved_gone, tell] {
        tell(RemoveAttemptDir(AttemptDir(state_dir, ref), spares.get(), proved_gone));
      },
      [this, ref, tell, drop] {
        disk_.Run([state_dir = options_.state_dir, spares = context_.spares, ref,
                   tell] { tell(RemoveEmptyRunDir(state_dir, ref.run, spares.get())); },
                  drop);
      });
}

void Engine::SweepRunDirs() {
  const absl::CivilDay today = absl::ToCivilDay(loop_->clock().Get().wall, absl::UTCTimeZone());
  disk_.Run([state_dir = options_.state_dir, keep = options_.keep_run_dirs,
             today] { RemoveOldRunDirs(state_dir, today, keep); },
            [] {});
  loop_->At(loop_->clock().Get().mono + kSweepEvery, [this] { SweepRunDirs(); });
}

void Engine::OnPrepared(const protocol::Prepared& prepared) {
  if (!prepared.status.ok()) {
    LogInfo("an attempt cannot run here",
            {{"attempt", prepared.ref.ToString()}, {"problem", prepared.status.ToString()}});
    output_.Remove(prepared.ref);
  }
  Decide([&](Now now, Effects* effects) { agent_->OnPrepared(now, prepared, effects); });
}

void Engine::OnEnvironment(const protocol::EnvironmentReport& report) { Send(report); }

void Engine::OnRankStarted(AttemptRef ref, int32_t rank, int64_t pid, absl::Duration ago) {
  Decide(
      [&](Now now, Effects* effects) { agent_->OnRankStarted(now, ref, rank, pid, ago, effects); });
}

void Engine::OnRankExited(AttemptRef ref, int32_t rank, const protocol::RankExit& exit,
                          protocol::RankAges ago) {
  Decide(
      [&](Now now, Effects* effects) { agent_->OnRankExited(now, ref, rank, exit, ago, effects); });
}

void Engine::OnOutput(AttemptRef ref, const OutputGrown& output) { output_.OnOutput(ref, output); }

void Engine::OnRendezvous(const protocol::RendezvousReport& report) { Send(report); }

void Engine::OnStoppedItself(AttemptRef ref, const protocol::Halt& halt) {
  LogWarning("an attempt ends by itself", {{"attempt", ref.ToString()}, {"reason", halt.reason}});
  Decide([&](Now now, Effects* effects) { agent_->OnStoppedItself(now, ref, halt, effects); });
}

void Engine::OnDoomed(AttemptRef ref, const std::string& reason) {
  Decide([&](Now now, Effects* effects) { agent_->OnDoomed(now, ref, reason, effects); });
}

void Engine::OnWhole(AttemptRef ref, MonoTime at) {
  Decide([&](Now now, Effects* effects) {
    agent_->OnWhole(now, ref, OnMonotonicClock(at, now), effects);
  });
}

void Engine::OnHeardAll(AttemptRef ref, MonoTime at) {
  Decide([&](Now now, Effects*) { agent_->OnHeardAll(now, ref, OnMonotonicClock(at, now)); });
}

Vouch Engine::VouchFor(AttemptRef ref) const { return agent_->VouchFor(loop_->clock().Get(), ref); }

void Engine::OnReturned(AttemptRef ref, const protocol::Halt& halt, int32_t killed) {
  output_.OnReturned(ref);
  if (!supervisors_swept_soon_) SweepSupervisorsSoon();
  Decide([&](Now now, Effects* effects) { agent_->OnReturned(now, ref, halt, effects, killed); });
}

// Repeats until no supervisor waits any more.
void Engine::SweepSupervisorsSoon() {
  supervisors_swept_soon_ = true;
  loop_->At(loop_->clock().Get().mono + context_.keep_idle, [this] {
    const MonoTime now = loop_->clock().Get().mono;
    upkeep_.Ask<bool>([spawner = context_.spawner, now] { return spawner->EndIdle(now); },
                      [this](bool some_wait) {
                        supervisors_swept_soon_ = false;
                        if (some_wait) SweepSupervisorsSoon();
                      });
  });
}

// ---------------------------------------------------------------------------- owner, power, end

void Engine::Reclaim(const YieldRequest& request, OnOwnerAnswer done) {
  AwaitOwner(/*pc_free=*/true, std::move(done));
  Decide([&](Now now, Effects* effects) { agent_->Reclaim(now, request, effects); });
}

void Engine::Lend(OnOwnerAnswer done) {
  AwaitOwner(/*pc_free=*/false, std::move(done));
  Decide([this](Now now, Effects* effects) { agent_->Lend(now, effects); });
}

// The answer comes after a round of the loop, at the latest after the round that this timer begins.
void Engine::AwaitOwner(bool pc_free, OnOwnerAnswer done) {
  const MonoTime now = loop_->clock().Get().mono;
  owners_waiting_.Await(now, pc_free, std::move(done));
  loop_->At(now + OwnersWaiting::kSavePatience, [] {});
}

void Engine::Do(const SaveOwner& effect) {
  owner_keeper_.Save(effect.state);
  if (effect.state.reclaimed) KeepNothing();
}

// The owner's memory is the owner's.
void Engine::KeepNothing() {
  for (auto& [ref, runner] : runners_) runner->KeepNothing();
  upkeep_.Run([spawner = context_.spawner] { (void)spawner->EndIdle(MonoTime::Infinite()); },
              [] {});
}

void Engine::Do(const Sleep& effect) {
  LogInfo("going to sleep", {{"reason", effect.reason}});
  KeepNothing();
  power_.Ask<absl::Status>(
      [power = machine_.power] { return power->Sleep(); },
      [this, reason = effect.reason](const absl::Status& accepted) {
        if (!accepted.ok()) LogError("the power command failed", {{"error", accepted.ToString()}});
        // The command may return only after the machine is awake again.
        const absl::Duration slept = surroundings_.TakeSuspended();
        Decide([&](Now now, Effects* effects) {
          agent_->OnPowerCommandEnded();
          if (!accepted.ok()) {
            agent_->OnSleepFailed(std::string(accepted.message()), effects);
          } else if (slept > absl::ZeroDuration()) {
            agent_->OnResumed(now, slept, effects);
          } else {
            agent_->OnFallingAsleep(reason, effects);
          }
        });
      });
}

void Engine::Do(const Note& effect) {
  Log(effect.warning ? LogLevel::kWarning : LogLevel::kInfo, effect.text);
}

void Engine::Shutdown(std::function<void()> done) {
  on_exit_ = std::move(done);
  exit_asked_ = loop_->clock().Get().mono;
  state_.Run(
      [dir = options_.state_dir, boot = surroundings_.boot_id(), at_ns = BootTimeNs()] {
        const absl::Status written = WriteToldToEnd(dir, boot, at_ns);
        if (written.ok()) return;
        LogWarning("when this worker was told to end cannot be stored",
                   {{"error", written.ToString()}});
      },
      [this] { exit_noted_ = true; });
  // Only the PC itself can tell whether it is being turned off or only its worker is being stopped.
  system_.Ask<bool>([power = machine_.power] { return power->GoingDown(); },
                    [this](bool going_down) {
                      const protocol::Leaving words = {
                          going_down ? "the PC is going down" : "its worker was stopped",
                          /*stays_on=*/!going_down};
                      Decide([&](Now now, Effects* effects) {
                        agent_->Leave(now, words, now.mono - exit_asked_,
                                      options_.stop_ranks_on_exit, effects);
                      });
                    });
}

void Engine::ExitWhenReady() {
  if (!on_exit_ || goodbye_said_) return;
  // The last return may have made the agent ready to exit.
  if (!agent_->ReadyToExit()) Tick();
  if (!agent_->ReadyToExit()) return;
  const MonoTime now = loop_->clock().Get().mono;
  const MonoTime latest = exit_asked_ + OwnersWaiting::kSavePatience;
  if (owners_waiting_.IsSaving(exit_asked_, now) || (!exit_noted_ && now < latest)) {
    loop_->At(latest, [] {});
    return;
  }
  goodbye_said_ = true;
  if (!agent_->connection().connected()) return std::exchange(on_exit_, nullptr)();
  link_->Finish();
  loop_->At(loop_->clock().Get().mono + kGoodbye, [this] {
    if (on_exit_) std::exchange(on_exit_, nullptr)();
  });
}

}  // namespace hpc::worker
