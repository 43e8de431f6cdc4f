#include "tests/sim/machines/supervisor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace hpc::sim {

// How long what ranks have left behind may live once all of them have ended by themselves.
constexpr absl::Duration kTimeToLeave = absl::Seconds(5);
// An answer to SIGTERM with success waits so long for the SIGTERM of the supervisor.
constexpr absl::Duration kHoldSuccess = absl::Milliseconds(500);

Supervisor::Supervisor(Context* context, Census* census, Bonds* bonds, Gate* gate, std::string node,
                       const protocol::Prepare& prepare, absl::Duration lease)
    : context_(context),
      census_(census),
      bonds_(bonds),
      gate_(gate),
      node_(std::move(node)),
      prepare_(prepare),
      lease_(lease),
      lease_over_(context->now() + lease) {
  for (int32_t i = 0; i < prepare.ranks; ++i) ranks_[prepare.first_rank + i].program = Draw();
}

// Draws a program. The name of its run says which kind of program that is.
Program Supervisor::Draw() {
  Random& random = context_->random;
  const std::string& kind = prepare_.run_name;
  Program p;
  p.runs = random.Between(absl::Seconds(1), absl::Seconds(20));
  if (absl::StartsWith(kind, "long")) p.runs = random.Between(absl::Seconds(30), absl::Minutes(4));
  if (absl::StartsWith(kind, "hang")) p.runs = absl::InfiniteDuration();
  if (absl::StartsWith(kind, "stubborn")) {
    p.runs = random.Between(absl::Seconds(30), absl::Minutes(4));
    p.ignores_term = true;
  }
  if (absl::StartsWith(kind, "polite")) p.code_after_term = 0;  // the code that Lightning ends with
  if (absl::StartsWith(kind, "flaky") && random.Chance(0.2)) {
    p.exit_code = random.Chance(0.3) ? 75 : 1 + random.Below(70);
  }
  p.cannot_start = random.Chance(0.005);
  p.sticks = random.Chance(0.005);
  p.without_peer = static_cast<WithoutPeer>(random.Below(3));
  if (random.Chance(0.3)) p.closes_before = random.Between({}, absl::Milliseconds(300));
  if (random.Chance(0.2)) p.tidies = random.Between({}, absl::Seconds(3));
  if (random.Chance(0.1)) p.leaves_behind = random.Between({}, absl::Seconds(10));
  if (context_->healing) {
    p = Program();
    p.runs = random.Between({}, absl::Seconds(5));
  }
  return p;
}

// When the time comes, the PC may stand still; then `what` waits for it.
void Supervisor::Later(absl::Duration d, std::function<void()> what) {
  context_->agenda.AfterFor(shared_from_this(), d, [this, what = std::move(what)] {
    gate_->Run([weak = weak_from_this(), what] {
      if (weak.lock() != nullptr) what();
    });
  });
}

void Supervisor::Record(decltype(JournalEntry::event) event, absl::Duration ago,
                        absl::Duration within) {
  journal_.push_back({context_->now() - ago, std::move(event), within});
  if (listener_) listener_(journal_.back());
}

// ------------------------------------------------------------------------------------- commands

void Supervisor::Start(const protocol::Start& start) {
  if (phase_ != Phase::kReady) return;
  if (fence_ != MonoTime{} && context_->now() >= fence_) return;
  context_->trace.Note("    ", node_, ": starts the ranks of ", prepare_.ref.ToString());
  phase_ = Phase::kRunning;
  bonds_->Join(prepare_.ref, weak_from_this());
  const std::string master = absl::StrCat(start.master_addr, ":", start.master_port);
  for (auto& [number, rank] : ranks_) StartOne(number, master);
}

void Supervisor::StartOne(int32_t number, const std::string& master) {
  Rank& rank = ranks_[number];
  if (rank.program.cannot_start) {
    rank.ended = rank.reaped = true;
    census_->CannotStart(prepare_.ref, number);
    census_->blame().Fails(prepare_.ref, number, 127);
    census_->blame().Ended(prepare_.ref, number, 127);
    Record(RankExited{number, {127, std::nullopt, false, "cannot start", ""}});
    return CheckAllEnded();
  }
  rank.started = true;
  rank.pid = 1000 + number;
  census_->Begins({node_, prepare_.ref, number, prepare_.devices, prepare_.world_size, master,
                   prepare_.stop_grace});
  Record(RankStarted{number, rank.pid});
  const Program& program = rank.program;
  if (program.runs == absl::InfiniteDuration()) return;
  Later(program.runs, [this, number, code = program.exit_code] {
    if (code != 0) return Fail(number, code);
    End(number, {code, std::nullopt, false, "", ""});
  });
}

void Supervisor::Fail(int32_t number, int32_t code) {
  Rank& rank = ranks_[number];
  if (rank.ended || phase_ == Phase::kGone) return;
  rank.closed = true;
  rank.failed_at = context_->now();
  census_->blame().Fails(prepare_.ref, number, code);
  protocol::RankExit exit{.exit_code = code};
  if (number % 2 == 0) exit.message = exit.traceback = "ValueError: bad shape";
  const auto end = [this, number, exit] { End(number, exit); };
  const auto close = [this, end, before_end = rank.program.closes_before] {
    if (before_end == absl::ZeroDuration()) return end();
    bonds_->Closed(prepare_.ref);
    Later(before_end, end);
  };
  rank.program.tidies == absl::ZeroDuration() ? close() : Later(rank.program.tidies, close);
}

void Supervisor::OnPeerClosed() {
  for (const auto& [number, rank] : ranks_) {
    if (!rank.started || rank.ended || rank.closed ||
        rank.program.without_peer == WithoutPeer::kHangs)
      continue;
    Later(context_->random.Between(absl::Milliseconds(1), absl::Milliseconds(30)),
          [this, number = number] { LosePeer(number); });
  }
}

void Supervisor::LosePeer(int32_t number) {
  if (ranks_[number].closed) return;
  const bool says = ranks_[number].program.without_peer == WithoutPeer::kSaysSo;
  End(number, {1, std::nullopt, false, says ? "RuntimeError: Connection closed by peer" : "", ""});
}

void Supervisor::Freeze(absl::Duration d) {
  frozen_since_ = context_->now();
  frozen_until_ = context_->now() + d;
}

void Supervisor::Stop(absl::Duration grace, const std::string& reason, protocol::HaltKind halt) {
  if (reason == kSigterm || reason == "lease") {
    census_->graces().Gives(prepare_.ref, node_, prepare_.stop_grace);
  }
  if (context_->Bugged(Bug::kSlowYield)) grace = prepare_.stop_grace;
  const MonoTime over = context_->now() + grace;
  if (phase_ >= Phase::kStopping) {
    if (phase_ != Phase::kStopping || over >= stop_over_) return;
  } else {
    if (context_->Bugged(Bug::kIgnoreStop, 0.1)) return;
    context_->trace.Note("    ", node_, ": stops ", prepare_.ref.ToString(), " within ",
                         absl::FormatDuration(grace), ": ", reason);
    stopping_ = true;
    told_to_end_ = reason == kSigterm || reason == "recall";
    // Where all ranks have ended by themselves, the stop ends only what they have left running.
    if (phase_ < Phase::kRunning || HasRanks()) census_->blame().Harmed(prepare_.ref, reason);
    Record(StopBegan{reason, halt});
    if (phase_ < Phase::kRunning || grace <= absl::ZeroDuration()) return BeginKill();
    phase_ = Phase::kStopping;
    for (const auto& [number, rank] : ranks_) Terminate(number);
  }
  stop_over_ = std::min(stop_over_, over);
  Later(grace, [this] {
    if (phase_ == Phase::kStopping && context_->now() >= stop_over_) BeginKill();
  });
}

void Supervisor::Terminate(int32_t number) {
  const Rank& rank = ranks_[number];
  if (rank.ended || rank.program.ignores_term) return;
  const int32_t code = rank.program.code_after_term;
  protocol::RankExit exit{code, std::nullopt, false, "", ""};
  if (code == 143) exit = {std::nullopt, 15, false, "", ""};
  exit.catches_sigterm = code != 143;
  // A process that does not catch it ends at once.
  const absl::Duration longest = absl::Milliseconds(exit.catches_sigterm ? 500 : 1);
  Later(context_->random.Between({}, longest), [this, number, exit] {
    if (!ranks_[number].ended) census_->blame().Interrupted(prepare_.ref);
    End(number, exit);
  });
}

void Supervisor::TellRanks() {
  if (phase_ != Phase::kRunning || !HasRanks()) return;
  context_->trace.Note("    ", node_, ": SIGTERM to the ranks of ", prepare_.ref.ToString());
  census_->blame().Harmed(prepare_.ref, "its PC's going down");
  for (const auto& [number, rank] : ranks_) Terminate(number);
}

void Supervisor::ExtendLease() {
  lease_over_ = context_->now() + lease_;
  WatchLease();
}

void Supervisor::WatchLease() {
  if (std::exchange(watching_, true)) return;
  Later(lease_over_ - context_->now(), [this] {
    watching_ = false;
    if (phase_ >= Phase::kStopping) return;
    if (context_->now() < lease_over_) return WatchLease();
    if (context_->Bugged(Bug::kNoFencing) || context_->Bugged(Bug::kNoSupervisorLease)) return;
    Stop(prepare_.stop_grace, "lease");
  });
}

void Supervisor::SetFence(MonoTime until) {
  fence_ = until;
  WatchFence();
}

void Supervisor::Recall(absl::Duration grace, std::function<void()> gone) {
  if (died_) return;
  if (phase_ == Phase::kGone) return gone();
  recallers_.push_back(std::move(gone));
  census_->graces().Gives(prepare_.ref, node_, grace);
  Stop(grace, "recall");
}

void Supervisor::WatchFence() {
  if (std::exchange(watching_fence_, true)) return;
  Later(std::max(fence_ - context_->now(), absl::ZeroDuration()), [this] {
    watching_fence_ = false;
    if (phase_ >= Phase::kKilling) return;
    if (context_->now() < fence_) return WatchFence();
    if (context_->Bugged(Bug::kNoFencing) || context_->Bugged(Bug::kNoSupervisorLease)) return;
    context_->trace.Note("    ", node_, ": fences ", prepare_.ref.ToString());
    census_->graces().Gives(prepare_.ref, node_, {});
    if (phase_ < Phase::kStopping) {  // else the stop that is under way only ends sooner
      stopping_ = true;
      if (HasRanks()) census_->blame().Harmed(prepare_.ref, "its fence");
      Record(StopBegan{"fenced"});
    }
    BeginKill();
  });
}

// -------------------------------------------------------------------------------------- endings

// A supervisor that stood still reaps what has ended meanwhile before it takes an order to stop.
void Supervisor::End(int32_t number, protocol::RankExit exit) {
  Rank& rank = ranks_[number];
  if (rank.ended || phase_ == Phase::kGone) return;
  rank.ended = true;
  census_->blame().Ended(prepare_.ref, number, exit.exit_code);
  left_until_ = std::max(left_until_, context_->now() + rank.program.leaves_behind);
  // Here only an answer to SIGTERM is of a program that catches it.
  const bool work_is_done = exit.exit_code == 0 && !exit.catches_sigterm;
  if (!work_is_done) bonds_->Closed(prepare_.ref);
  exit.after_stop = stopping_;
  const MonoTime now = context_->now();
  if (now >= frozen_until_) return Reap(number, exit, {});
  Later(frozen_until_ - now, [this, number, exit] {
    if (phase_ != Phase::kGone) Reap(number, exit, context_->now() - frozen_since_);
  });
}

// A success that may be the answer to a SIGTERM waits for the one that this supervisor gets.
void Supervisor::Reap(int32_t number, protocol::RankExit exit, absl::Duration within) {
  const absl::Duration since_words = context_->now() - ranks_[number].failed_at;
  if (!exit.traceback.empty() && since_words <= protocol::kLongestEnding) {
    exit.words_before_end = since_words;
  }
  const bool waits = !exit.after_stop && exit.catches_sigterm && exit.exit_code == 0;
  if (!waits || context_->Bugged(Bug::kSuccessAtOnce)) return Tell(number, exit, {}, within);
  Later(kHoldSuccess, [this, number, exit, within]() mutable {
    if (phase_ == Phase::kGone) return;
    exit.after_stop = told_to_end_;
    Tell(number, exit, kHoldSuccess, within);
  });
}

void Supervisor::Tell(int32_t number, const protocol::RankExit& exit, absl::Duration ago,
                      absl::Duration within) {
  ranks_[number].reaped = true;
  census_->Ends(prepare_.ref, number, exit);
  Record(RankExited{number, exit}, ago, within);
  if (phase_ == Phase::kStopping && context_->Bugged(Bug::kImpatient)) return BeginKill();
  CheckAllEnded();
}

void Supervisor::CheckAllEnded() {
  const bool all = std::all_of(ranks_.begin(), ranks_.end(),
                               [](const auto& entry) { return entry.second.reaped; });
  if (!all || phase_ == Phase::kGone) return;
  const MonoTime now = context_->now();
  if (phase_ == Phase::kRunning) {
    phase_ = Phase::kLeaving;
    stop_over_ = now + kTimeToLeave;
  }
  const bool waits = phase_ == Phase::kLeaving || phase_ == Phase::kStopping;
  if (waits && now < std::min(left_until_, stop_over_)) {
    return Later(std::min(left_until_, stop_over_) - now, [this] { CheckAllEnded(); });
  }
  // What is left then is killed, which takes a moment.
  if (phase_ != Phase::kKilling) return BeginKill();
  phase_ = Phase::kGone;
  context_->trace.Note("    ", node_, ": nothing is left of ", prepare_.ref.ToString());
  Record(AllGone{});
  for (const auto& gone : std::exchange(recallers_, {})) gone();
}

void Supervisor::BeginKill() {
  phase_ = Phase::kKilling;
  Later(context_->random.Between({}, absl::Milliseconds(20)), [this] {
    for (auto& [number, rank] : ranks_) KillOne(number);
    CheckAllEnded();
  });
}

void Supervisor::KillOne(int32_t number) {
  Rank& rank = ranks_[number];
  if (rank.ended) return;
  if (!rank.started) {
    rank.ended = rank.reaped = true;
    return;
  }
  census_->graces().Killed(prepare_.ref, node_, number);
  if (!rank.program.sticks || context_->healing) {
    return End(number, {std::nullopt, 9, false, "", ""});
  }
  context_->trace.Note("    ", node_, ": rank ", number, " of ", prepare_.ref.ToString(),
                       " survives SIGKILL");
  census_->Stuck(prepare_.ref, number);
  Later(absl::Seconds(20), [this, number] { End(number, {std::nullopt, 9, false, "", ""}); });
}

void Supervisor::Kill() {
  if (phase_ == Phase::kGone) return;
  if (HasRanks()) census_->blame().Harmed(prepare_.ref, "the death of its supervisor");
  for (auto& [number, rank] : ranks_) {
    if (rank.started && !rank.reaped) census_->Ends(prepare_.ref, number, std::nullopt);
    rank.ended = rank.reaped = true;
  }
  phase_ = Phase::kGone;
  died_ = true;
  recallers_.clear();
  listener_ = nullptr;
}

bool Supervisor::HasRanks() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& entry) { return entry.second.started && !entry.second.ended; });
}

void Supervisor::LoseTail(size_t entries) {
  journal_.resize(journal_.size() - std::min(entries, journal_.size()));
}

void Supervisor::FinishSoon() {
  for (auto& [number, rank] : ranks_) {
    if (!rank.started || rank.ended) continue;
    Later(context_->random.Between({}, absl::Seconds(5)), [this, number = number] {
      if (!stopping_) End(number, {0, std::nullopt, false, "", ""});
    });
  }
}

}  // namespace hpc::sim
