#include "worker/core/agent.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "protocol/limits.h"

namespace hpc::worker {
namespace {

// The grace when the worker itself decides to stop an attempt, unless the attempt has a shorter
// one.
constexpr absl::Duration kOwnGrace = absl::Seconds(10);
constexpr absl::Duration kLongestLeaseInterval = absl::Seconds(30);

bool HasPossibleRanks(const protocol::Prepare& prepare) {
  return protocol::ArePossibleRanks(prepare.first_rank, prepare.ranks);
}

// A device that both attempts claim.
std::optional<int32_t> SharedDevice(const Attempt& a, const Attempt& b) {
  const auto shared = std::find_first_of(a.devices().begin(), a.devices().end(),
                                         b.devices().begin(), b.devices().end());
  return shared == a.devices().end() ? std::nullopt : std::make_optional(*shared);
}

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace

Agent::Agent(const std::string& node, Now now, const OwnerState& owner,
             const std::vector<AdoptedAttempt>& adopted, std::optional<absl::Duration> told_to_end)
    : node_(node), connection_(now.mono), yield_(now, owner) {
  for (const AdoptedAttempt& attempt : adopted) {
    Attempt& one = attempts_.emplace(attempt.ref, Attempt(now.mono, attempt)).first->second;
    if (!told_to_end) continue;
    one.FormerWasToldToEnd(now.mono, now.mono - *told_to_end,
                           absl::StrCat(node_, " seems to have gone down: its worker was told to ",
                                        "end at about the same time"));
  }
  for (const auto& [ref, attempt] : attempts_) {
    for (const auto& [other_ref, other] : attempts_) {
      if (ref == other_ref || !attempt.live() || !other.live()) continue;
      const std::optional<int32_t> device = SharedDevice(attempt, other);
      if (!device) continue;
      contested_[ref] = absl::StrCat("device ", *device, " is attempt ", other_ref.ToString(),
                                     "'s too, as the worker's files say: they are damaged");
    }
  }
}

void Agent::OnMessage(Now now, const protocol::CoordinatorMessage& message, Effects* effects) {
  if (!connection_.connected() && !std::holds_alternative<protocol::Welcome>(message)) {
    effects->push_back(Note{true, "told something before a welcome: ignored"});
    return;
  }
  std::visit(Overloaded{
                 [&](const protocol::Welcome& m) { OnWelcome(now, m, effects); },
                 [&](const protocol::Prepare& m) { OnPrepare(now, m, effects); },
                 [&](const protocol::Heard& m) {
                   connection_.OnHeard(now.mono, std::min(m.sent, now.mono));
                   FenceAll(effects);
                 },
                 [&](const protocol::Start& m) { OnStart(now, m, effects); },
                 [&](const protocol::Doubt& m) { OnDoubt(now, m, effects); },
                 [&](const protocol::Recall& m) { effects->push_back(RecallRanks{m}); },
                 [&](const protocol::Stop& m) { OnStop(now, m, effects); },
                 [&](const protocol::Forget& m) { OnForget(now, m, effects); },
                 [&](const protocol::SetOwner& m) { OnSetOwner(now, m, effects); },
                 [&](const protocol::GoToSleep& m) { OnGoToSleep(m, effects); },
                 [](const protocol::LogAck&) {},
                 [](const protocol::MetricAck&) {},
             },
             message);
  DropUnsayable(effects);
}

void Agent::OnWelcome(Now now, const protocol::Welcome& welcome, Effects* effects) {
  connection_.OnWelcome(now.mono, welcome);
  resumed_ = false;
  cut_off_acted_ = false;
  noted_problem_.clear();
  next_lease_ = now.mono;
  FenceAll(effects);
  // The wish may have changed again since the hello was made. That change was said after the hello.
  if (yield_.state().unsent && yield_.state() == owner_in_hello_) {
    yield_.MarkSent();
    effects->push_back(SaveOwner{yield_.state()});
  }
  ExtendLeasesIfDue(now, effects);
}

void Agent::OnLinkClosed(Now now, const absl::Status& why, double jitter, Effects* effects) {
  const bool was_connected = connection_.connected();
  connection_.OnClosed(now.mono, why, jitter);
  next_lease_ = MonoTime::Infinite();
  if (was_connected) ExtendLeasesOnceMore(now, effects);
  // A coordinator may be away for days: repeating the same words would help nobody.
  if (leaving_ || connection_.problem() == noted_problem_) return;
  noted_problem_ = connection_.problem();
  effects->push_back(Note{true, absl::StrCat("not connected to the coordinator: ", noted_problem_,
                                             "; trying again until it answers")});
}

absl::Status Agent::Refusal(const protocol::Prepare& prepare) const {
  if (!HasPossibleRanks(prepare)) {
    return absl::FailedPreconditionError(absl::StrCat(
        node_, ": the placement contradicts itself: ", prepare.ranks, " ranks from rank ",
        prepare.first_rank, " on, of at most ", protocol::kMaxRanks));
  }
  if (leaving_) return absl::UnavailableError(node_ + ": its worker is stopping");
  if (yield_.reclaimed()) return absl::UnavailableError(node_ + ": its owner has taken it back");
  for (const auto& [ref, attempt] : attempts_) {
    if (ref.run == prepare.ref.run && ref.number > prepare.ref.number) {
      return absl::FailedPreconditionError(absl::StrCat(node_, ": attempt ", prepare.ref.ToString(),
                                                        " was replaced by ", ref.ToString()));
    }
    if (!attempt.live()) continue;
    for (int32_t device : prepare.devices) {
      if (std::count(attempt.devices().begin(), attempt.devices().end(), device) > 0) {
        return absl::UnavailableError(
            absl::StrCat(node_, ": device ", device, " is used by attempt ", ref.ToString()));
      }
    }
  }
  return absl::OkStatus();
}

void Agent::OnPrepare(Now now, const protocol::Prepare& prepare, Effects* effects) {
  if (Attempt* known = Find(prepare.ref)) {
    known->OnPrepareAgain(effects);
    return;
  }
  // A newer attempt means that the coordinator considers the older one over.
  for (auto& [ref, attempt] : attempts_) {
    if (ref.run == prepare.ref.run && ref.number < prepare.ref.number)
      attempt.OnForget(now.mono, effects);
  }
  const absl::Status refusal = Refusal(prepare);
  attempts_.emplace(prepare.ref,
                    HasPossibleRanks(prepare) ? Attempt(prepare) : Attempt(prepare.ref));
  if (refusal.ok()) {
    effects->push_back(PrepareAttempt{prepare});
  } else {
    OnPrepared(now, protocol::Prepared{prepare.ref, refusal, "", 0, true}, effects);
  }
}

void Agent::OnStart(Now now, const protocol::Start& start, Effects* effects) {
  Attempt* attempt = Find(start.ref);
  if (attempt == nullptr) return;
  Effects wanted;
  attempt->OnStart(now.mono, start, &wanted);
  // The fence comes first: the order to start may have waited long while this process stood still.
  Fence(attempt, effects);
  effects->insert(effects->end(), wanted.begin(), wanted.end());
}

void Agent::OnDoubt(Now now, const protocol::Doubt& doubt, Effects* effects) {
  if (Attempt* attempt = Find(doubt.ref)) attempt->Doubt(now.mono + doubt.span);
  effects->push_back(Say{protocol::Doubted{doubt.ref, doubt.asked}});
}

void Agent::OnWhole(Now now, AttemptRef ref, MonoTime at, Effects* effects) {
  Attempt* attempt = Find(ref);
  if (attempt == nullptr) return;
  attempt->OnWhole(std::min(at, now.mono));
  Fence(attempt, effects);
}

void Agent::OnHeardAll(Now now, AttemptRef ref, MonoTime at) {
  if (Attempt* attempt = Find(ref)) attempt->OnHeardAll(std::min(at, now.mono));
}

Vouch Agent::VouchFor(Now now, AttemptRef ref) const {
  const auto it = attempts_.find(ref);
  if (it == attempts_.end() || !connection_.heard()) return Vouch::kNo;
  return it->second.VouchFor(now.mono, *connection_.heard());
}

void Agent::Fence(Attempt* attempt, Effects* effects) const {
  if (connection_.heard()) attempt->Fence(*connection_.heard(), connection_.welcome(), effects);
}

void Agent::FenceAll(Effects* effects) {
  for (auto& [ref, attempt] : attempts_) Fence(&attempt, effects);
}

void Agent::OnStop(Now now, const protocol::Stop& stop, Effects* effects) {
  if (Attempt* attempt = Find(stop.ref)) {
    attempt->OnStop(now.mono, stop, effects);
  } else {
    effects->push_back(Say{protocol::AttemptReturned{stop.ref, {}}});
  }
}

void Agent::OnForget(Now now, const protocol::Forget& forget, Effects* effects) {
  if (Attempt* attempt = Find(forget.ref)) attempt->OnForget(now.mono, effects);
}

void Agent::OnGoToSleep(const protocol::GoToSleep& command, Effects* effects) {
  if (yield_.reclaimed()) {
    effects->push_back(Note{false, "told to sleep while the PC is its owner's: not done"});
    return OnSleepFailed("its owner has taken it back", effects);
  }
  if (live_attempts() > 0) {
    effects->push_back(Note{true, "told to sleep while attempts are live: not done"});
    return OnSleepFailed("ranks still run there", effects);
  }
  // A second command would wait for the first, and might put the PC to sleep while its owner uses
  // it.
  if (std::exchange(power_command_runs_, true)) {
    effects->push_back(Note{true, "told to sleep while the power command still runs: not done"});
    return OnSleepFailed("its power command has not ended yet", effects);
  }
  effects->push_back(Sleep{command.reason});
}

void Agent::OnPrepared(Now now, const protocol::Prepared& prepared, Effects* effects) {
  if (Attempt* attempt = Find(prepared.ref)) attempt->OnPrepared(now.mono, prepared, effects);
  DropUnsayable(effects);
}

void Agent::OnRankStarted(Now now, AttemptRef ref, int32_t rank, int64_t pid, absl::Duration ago,
                          Effects* effects) {
  if (Attempt* attempt = Find(ref)) attempt->OnRankStarted(now.mono, rank, pid, ago, effects);
  DropUnsayable(effects);
}

void Agent::OnRankExited(Now now, AttemptRef ref, int32_t rank, const protocol::RankExit& exit,
                         protocol::RankAges ago, Effects* effects) {
  if (Attempt* attempt = Find(ref)) attempt->OnRankExited(now.mono, rank, exit, ago, effects);
  DropUnsayable(effects);
}

void Agent::OnStoppedItself(Now now, AttemptRef ref, const protocol::Halt& halt, Effects* effects) {
  if (Attempt* attempt = Find(ref)) attempt->OnStoppedItself(now.mono, halt, effects);
  DropUnsayable(effects);
}

void Agent::OnDoomed(Now now, AttemptRef ref, const std::string& reason, Effects* effects) {
  if (Attempt* attempt = Find(ref)) {
    StopForOurselves(now, attempt, {protocol::HaltKind::kSupervisorLost, reason}, effects);
  }
  DropUnsayable(effects);
}

void Agent::StopForOurselves(Now now, Attempt* attempt, const protocol::Halt& halt,
                             Effects* effects) {
  attempt->StopForOurselves(now.mono, std::min(kOwnGrace, attempt->stop_grace()), halt, effects);
}

void Agent::OnRecalled(const protocol::Recalled& recalled, Effects* effects) {
  effects->push_back(Say{recalled});
  DropUnsayable(effects);
}

void Agent::OnReturned(Now now, AttemptRef ref, const protocol::Halt& halt, Effects* effects,
                       int32_t killed) {
  if (Attempt* attempt = Find(ref)) {
    attempt->OnReturned(now.mono, halt, effects, killed);
    // The gang waits for this node until the node knows that its return was heard.
    if (attempt->ended_well()) connection_.Confirm(now.mono);
  }
  CheckPcFree(now, effects);
  DropUnsayable(effects);
}

void Agent::OnResumed(Now now, absl::Duration slept, Effects* effects) {
  resumed_ = true;
  const std::string reason = "the machine slept for " + HumanDuration(slept);
  effects->push_back(CloseLink{reason});
  effects->push_back(Note{false, "connecting anew: " + reason});
  connection_.Restart(now.mono);
  connection_.OnSlept(slept);
  for (auto& [ref, attempt] : attempts_) attempt.OnSlept(slept);
  next_lease_ = MonoTime::Infinite();
}

void Agent::OnSleepFailed(const std::string& error, Effects* effects) {
  effects->push_back(Say{protocol::SleepFailed{error}});
  DropUnsayable(effects);
}

void Agent::OnFallingAsleep(const std::string& reason, Effects* effects) {
  effects->push_back(Say{protocol::Leaving{reason, /*stays_on=*/false}});
  DropUnsayable(effects);
}

void Agent::Leave(Now now, const protocol::Leaving& words, absl::Duration ago, bool stop_ranks,
                  Effects* effects) {
  leaving_ = true;
  leave_words_ = words;
  if (stop_ranks || !words.stays_on) {
    const protocol::Halt halt{protocol::HaltKind::kLeaving, node_ + ": " + words.reason, ago};
    for (auto& [ref, attempt] : attempts_) StopForOurselves(now, &attempt, halt, effects);
  } else if (live_attempts() > 0) {
    leaving_said_ = true;
    effects->push_back(Say{protocol::HandingOver{}});
    effects->push_back(Note{false, absl::StrCat(Count(live_attempts(), "attempt"),
                                                " lives on; the next worker finds it again")});
  }
  Tick(now, effects);
}

bool Agent::ReadyToExit() const { return leaving_ && leaving_said_; }

int32_t Agent::live_attempts() const {
  return static_cast<int32_t>(std::count_if(attempts_.begin(), attempts_.end(),
                                            [](const auto& a) { return a.second.live(); }));
}

void Agent::ExtendLeasesIfDue(Now now, Effects* effects) {
  if (!connection_.connected() || now.mono < next_lease_) return;
  if (!connection_.Proven(now.mono)) {
    next_lease_ = now.mono + Connection::kDetection;
    return;
  }
  next_lease_ = now.mono + std::min(kLongestLeaseInterval, connection_.SupervisorLease() / 10);
  if (live_attempts() > 0) effects->push_back(ExtendLeases{});
}

// Gives ranks all of the time that they may have without the coordinator. That time is counted from
// the last contact, and not from the last extension.
void Agent::ExtendLeasesOnceMore(Now now, Effects* effects) {
  const MonoTime extended = now.mono + connection_.SupervisorLease();
  if (live_attempts() > 0 && extended <= connection_.SilenceLimit()) {
    effects->push_back(ExtendLeases{});
  }
}

void Agent::TickConnection(Now now, Effects* effects) {
  if (leaving_ && !connection_.connected()) return;
  switch (connection_.Tick(now.mono)) {
    case Connection::Action::kNone:
      break;
    case Connection::Action::kOpen:
      effects->push_back(OpenLink{MakeHello(now)});
      break;
    case Connection::Action::kHeartbeat:
      effects->push_back(
          SayHeartbeat{.answer_may_wait = attempts_.empty() && !connection_.first_heartbeat()});
      break;
    case Connection::Action::kGiveUp:
      effects->push_back(CloseLink{"no welcome"});
      OnLinkClosed(now, absl::DeadlineExceededError("the coordinator does not answer"), 1.0,
                   effects);
      break;
  }
}

void Agent::StopIfCutOff(Now now, Effects* effects) {
  if (cut_off_acted_ || now.mono < connection_.SilenceLimit()) return;
  cut_off_acted_ = true;
  for (auto& [ref, attempt] : attempts_) {
    StopForOurselves(now, &attempt,
                     {protocol::HaltKind::kCutOff,
                      absl::StrCat(node_, " had no contact with the coordinator for ",
                                   HumanDuration(connection_.welcome().stop_after_disconnect))},
                     effects);
  }
}

// This happens before the hello, which then says why.
void Agent::StopContested(Now now, Effects* effects) {
  for (const auto& [ref, why] : std::exchange(contested_, {})) {
    if (Attempt* attempt = Find(ref)) {
      StopForOurselves(now, attempt, {protocol::HaltKind::kDamaged, why}, effects);
    }
  }
}

void Agent::Tick(Now now, Effects* effects) {
  StopContested(now, effects);
  DropUnsayable(effects);  // the hello that may follow tells it
  TickConnection(now, effects);
  ExtendLeasesIfDue(now, effects);
  StopIfCutOff(now, effects);
  TickYield(now, effects);
  StopAllIfReclaimed(now, effects);
  if (leaving_ && !leaving_said_ && live_attempts() == 0) {
    leaving_said_ = true;
    effects->push_back(Say{leave_words_});
  }
  DropUnsayable(effects);
}

MonoTime Agent::NextDeadline() const {
  MonoTime next = yield_.NextDeadline();
  if (!leaving_ || connection_.connected()) next = std::min(next, connection_.NextDeadline());
  if (!cut_off_acted_ && live_attempts() > 0) {
    next = std::min(next, connection_.SilenceLimit());
  }
  if (live_attempts() > 0) next = std::min(next, next_lease_);
  return next;
}

protocol::Hello Agent::MakeHello(Now now) {
  owner_in_hello_ = yield_.state();
  protocol::Hello hello;
  hello.resumed = resumed_;
  hello.owner_changed = yield_.state().unsent;
  hello.reclaimed = yield_.reclaimed();
  hello.reclaim_left = yield_.Left(now);
  hello.reclaim_reason = yield_.state().reason;
  for (const auto& [ref, attempt] : attempts_) hello.attempts.push_back(attempt.Held(now.mono));
  return hello;
}

Attempt* Agent::Find(AttemptRef ref) {
  auto it = attempts_.find(ref);
  return it == attempts_.end() ? nullptr : &it->second;
}

void Agent::DropUnsayable(Effects* effects) const {
  // Before a hello is answered, messages may be sent after it: they arrive after it.
  if (connection_.state() != Connection::State::kWaiting) return;
  effects->erase(std::remove_if(effects->begin(), effects->end(),
                                [](const Effect& e) { return std::holds_alternative<Say>(e); }),
                 effects->end());
}

}  // namespace hpc::worker
