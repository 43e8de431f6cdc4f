#include "worker/link/testing/bare_worker.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <set>
#include <utility>

#include "protocol/limits.h"
#include "worker/link/convert.h"

namespace hpc::worker {
namespace {

void Check(bool holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  abort();
}

// More ranks, and in many attempts, only cost a fuzzer time and show nothing new.
constexpr size_t kManyRanks = 1000;

bool Shares(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return std::find_first_of(a.begin(), a.end(), b.begin(), b.end()) != a.end();
}

}  // namespace

BareWorker::BareWorker()
    : now_{MonoTime{absl::Hours(1)}, absl::FromUnixSeconds(1'795'219'562)},
      agent_(std::make_unique<Agent>("pc1", now_, saved_owner_, std::vector<AdoptedAttempt>())) {
  Tick();
}

bool BareWorker::AnyLive() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const auto& p) { return p.second.live; });
}

size_t BareWorker::CountRanks() const {
  size_t ranks = 0;
  for (const auto& [ref, part] : parts_) ranks += part.ranks.size();
  return ranks;
}

template <typename Predicate>
std::map<AttemptRef, BareWorker::Part>::iterator BareWorker::Choose(uint64_t which, Predicate can) {
  std::vector<std::map<AttemptRef, Part>::iterator> all;
  for (auto it = parts_.begin(); it != parts_.end(); ++it) {
    if (can(it->second)) all.push_back(it);
  }
  return all.empty() ? parts_.end() : all[which % all.size()];
}

// ------------------------------------------------------------------------------------ what happens

void BareWorker::Hear(const v1::CoordinatorMessage& message) {
  const std::optional<protocol::CoordinatorMessage> heard = FromProto(message);
  if (!heard || link_ == LinkState::kClosed) return;
  if (message.has_prepare() && CountRanks() > kManyRanks) return;
  if (const auto* welcome = std::get_if<protocol::Welcome>(&*heard)) {
    link_ = LinkState::kOpen;
    welcomed_ = true;
    welcome_ = *welcome;
  }
  if (const auto* doubt = std::get_if<protocol::Doubt>(&*heard);
      doubt && link_ == LinkState::kOpen) {
    if (const auto it = parts_.find(doubt->ref); it != parts_.end()) {
      it->second.silent_until = std::max(it->second.silent_until, now_.mono + doubt->span);
    }
  }
  Effects effects;
  agent_->OnMessage(now_, *heard, &effects);
  Do(effects);
  const auto* forget = std::get_if<protocol::Forget>(&*heard);
  if (forget == nullptr || link_ != LinkState::kOpen) return;
  const auto it = parts_.find(forget->ref);
  Check(it == parts_.end() || it->second.stop_asked || it->second.drop_asked,
        "what is forgotten is stopped or dropped");
}

void BareWorker::LoseLink(uint64_t how) {
  if (link_ == LinkState::kClosed) return;
  if (link_ == LinkState::kOpen) lost_at_ = now_.mono;
  link_ = LinkState::kClosed;
  Effects effects;
  agent_->OnLinkClosed(now_, absl::Status(static_cast<absl::StatusCode>(1 + how % 16), "lost"),
                       static_cast<double>(how % 2), &effects);
  Do(effects);
}

void BareWorker::Pass(absl::Duration time) {
  now_.mono = now_.mono + time;
  now_.wall += time;
  Tick();
}

void BareWorker::FinishPreparing(uint64_t which, bool ok) {
  const auto it = Choose(which, [](const Part& part) { return part.live && !part.prepared; });
  if (it == parts_.end()) return;
  Part& part = it->second;
  Effects effects;
  if (part.stop_asked) {  // it is rolled back, and says so
    part.live = false;
    agent_->OnReturned(now_, it->first, {}, &effects);
  } else {
    part.prepared = ok;
    part.live = ok;
    const absl::Status status = ok ? absl::OkStatus() : absl::NotFoundError("no such command");
    agent_->OnPrepared(now_, {it->first, status, "10.0.0.1", 1, true}, &effects);
  }
  Do(effects);
}

void BareWorker::StartRanks(uint64_t which) {
  const auto it = Choose(which, [](const Part& part) {
    return part.live && part.start_asked &&
           std::any_of(part.ranks.begin(), part.ranks.end(),
                       [](const auto& rank) { return rank.pid == 0 && !rank.exit; });
  });
  if (it == parts_.end()) return;
  for (AdoptedAttempt::Rank& rank : it->second.ranks) {
    if (rank.pid != 0 || rank.exit) continue;
    rank.pid = next_pid_++;
    Effects effects;
    agent_->OnRankStarted(now_, it->first, rank.rank, rank.pid, absl::ZeroDuration(), &effects);
    Do(effects);
  }
}

void BareWorker::EndRank(uint64_t which) {
  const auto it = Choose(which, [](const Part& part) {
    return part.live && std::any_of(part.ranks.begin(), part.ranks.end(),
                                    [](const auto& rank) { return rank.pid != 0 && !rank.exit; });
  });
  if (it == parts_.end()) return;
  for (AdoptedAttempt::Rank& rank : it->second.ranks) {
    if (rank.pid == 0 || rank.exit) continue;
    rank.exit = protocol::RankExit{.exit_code = static_cast<int32_t>(which % 3)};
    Effects effects;
    agent_->OnRankExited(now_, it->first, rank.rank, *rank.exit, {absl::Seconds(1), {}}, &effects);
    return Do(effects);
  }
}

void BareWorker::Return(uint64_t which, bool lost) {
  const auto it = Choose(which, [](const Part& part) { return part.live && part.prepared; });
  if (it == parts_.end()) return;
  it->second.live = false;
  Effects effects;
  agent_->OnReturned(
      now_, it->first,
      lost ? protocol::Halt{protocol::HaltKind::kSupervisorLost, "its supervisor was killed"}
           : protocol::Halt(),
      &effects);
  Do(effects);
}

void BareWorker::StopItself(uint64_t which) {
  const auto it = Choose(which, [](const Part& part) { return part.live && part.prepared; });
  if (it == parts_.end()) return;
  it->second.stop_asked = true;
  Effects effects;
  agent_->OnStoppedItself(now_, it->first,
                          {protocol::HaltKind::kCutOff, "its node had no contact for too long"},
                          &effects);
  Do(effects);
}

void BareWorker::Doom(uint64_t which) {
  const auto it = Choose(which, [](const Part& part) { return part.live && part.prepared; });
  if (it == parts_.end()) return;
  Effects effects;
  agent_->OnDoomed(now_, it->first, "its rendezvous store was lost", &effects);
  Do(effects);
}

void BareWorker::BeWhole(uint64_t which) {
  const auto it = Choose(which, [](const Part&) { return true; });
  if (it == parts_.end()) return;
  Effects effects;
  agent_->OnWhole(now_, it->first, now_.mono + absl::Milliseconds(which % 5'000 - 4'000.0),
                  &effects);
  Do(effects);
}

void BareWorker::Drop(uint64_t which) {
  const auto it = Choose(which, [](const Part& part) { return part.drop_asked; });
  if (it == parts_.end()) return;
  agent_->OnDropped(it->first);
  parts_.erase(it);
}

void BareWorker::Reclaim(absl::Duration time) {
  YieldRequest request;
  if (time > absl::ZeroDuration()) request.duration = time;
  request.reason = "a game";
  Effects effects;
  agent_->Reclaim(now_, request, &effects);
  Do(effects);
}

void BareWorker::Lend() {
  Effects effects;
  agent_->Lend(now_, &effects);
  Do(effects);
}

void BareWorker::Resume(absl::Duration slept) {
  now_.wall += slept;
  for (auto& [ref, part] : parts_) part.fence.reset();
  Effects effects;
  agent_->OnPowerCommandEnded();
  agent_->OnResumed(now_, slept, &effects);
  Do(effects);
}

void BareWorker::FailToSleep() {
  Effects effects;
  agent_->OnPowerCommandEnded();
  agent_->OnSleepFailed("the power command failed", &effects);
  Do(effects);
}

void BareWorker::Leave(bool stop_ranks) {
  leaving_ = true;
  Effects effects;
  agent_->Leave(now_, {"it is told to", /*stays_on=*/true}, {}, stop_ranks, &effects);
  Do(effects);
}

void BareWorker::Restart(bool damaged) {
  // An attempt that was not prepared leaves no supervisor, and so it leaves nothing.
  std::erase_if(parts_, [](const auto& p) { return !p.second.prepared || p.second.drop_asked; });
  if (damaged && !parts_.empty()) {
    parts_.rbegin()->second.devices = parts_.begin()->second.devices;
  }
  std::vector<AdoptedAttempt> found;
  for (auto& [ref, part] : parts_) {
    part.adopted = true;
    part.stop_asked = false;
    part.fence.reset();
    part.silent_until = {};
    AdoptedAttempt& one = found.emplace_back();
    one.ref = ref;
    one.devices = part.devices;
    one.stop_grace = part.stop_grace;
    one.ranks = part.ranks;
    one.started = std::any_of(part.ranks.begin(), part.ranks.end(),
                              [](const auto& rank) { return rank.pid != 0; });
    one.returned = !part.live;
    one.witnessed = part.witnessed;
  }
  link_ = LinkState::kClosed;
  leaving_ = welcomed_ = false;
  agent_ = std::make_unique<Agent>("pc1", now_, saved_owner_, found);
  Tick();
}

void BareWorker::Tick() {
  Effects effects;
  agent_->Tick(now_, &effects);
  Do(effects);
  CheckAfterTick();
}

// ----------------------------------------------------------------------------- what is to be done

void BareWorker::Do(const Effects& effects) {
  for (const Effect& effect : effects) {
    std::visit([this](const auto& one) { Do(one); }, effect);
  }
  CheckAlike();
}

void BareWorker::Do(const OpenLink& effect) {
  Check(link_ == LinkState::kClosed, "one stream at a time");
  Check(!leaving_, "who leaves does not come back");
  link_ = LinkState::kOpening;
  const protocol::Hello& hello = effect.hello;
  std::set<AttemptRef> told;
  for (const protocol::HeldAttempt& held : hello.attempts) {
    CheckHeld(held);
    Check(told.insert(held.ref).second, "each attempt once in a hello");
  }
  for (const auto& [ref, part] : parts_) Check(told.count(ref) == 1, "every attempt in the hello");
  const v1::WorkerMessage wire = ToProto(hello);
  Check(v1::WorkerMessage().ParseFromString(wire.SerializeAsString()), "the hello can be read");
}

void BareWorker::CheckHeld(const protocol::HeldAttempt& held) const {
  const auto it = parts_.find(held.ref);
  Check(it != parts_.end(), "a hello tells of nothing else");
  const Part& part = it->second;
  Check(held.returned == !part.live, "a hello tells what is over");
  if (!part.adopted) Check(held.started == part.start_asked, "a hello tells what was started");
  if (part.refused) return;
  Check(held.witnessed == part.witnessed, "a hello tells what is witnessed");
  Check(held.ranks.size() == part.ranks.size(), "a hello tells of every rank");
  for (size_t i = 0; i < part.ranks.size(); ++i) {
    const protocol::HeldRank& rank = held.ranks[i];
    Check(rank.rank == part.ranks[i].rank && rank.pid == part.ranks[i].pid &&
              rank.exit == part.ranks[i].exit,
          "a hello tells what became of each rank");
    Check(rank.ago.started >= rank.ago.ended && rank.ago.ended >= absl::ZeroDuration(),
          "nothing ends before it started");
  }
}

void BareWorker::Do(const CloseLink&) { link_ = LinkState::kClosed; }

void BareWorker::Do(const Say& effect) {
  Check(link_ != LinkState::kClosed, "nothing is said without a stream");
  if (const auto* over = std::get_if<protocol::AttemptReturned>(&effect.message)) {
    const auto it = parts_.find(over->ref);
    Check(it == parts_.end() || !it->second.live, "what lives is not called returned");
  }
  if (std::holds_alternative<protocol::HandingOver>(effect.message)) {
    Check(AnyLive(), "who hands over has something to hand over");
  }
  if (std::holds_alternative<protocol::Leaving>(effect.message)) {
    Check(!AnyLive(), "who leaves ranks behind does not say so");
  }
  if (const auto* ended = std::get_if<protocol::RankEnded>(&effect.message)) {
    Check(ended->exit.exit_code.has_value() != ended->exit.signal.has_value(), "one kind of end");
  }
  const v1::WorkerMessage wire = ToProto(effect.message);
  Check(v1::WorkerMessage().ParseFromString(wire.SerializeAsString()), "what is said can be read");
}

void BareWorker::Do(const SayHeartbeat&) {
  Check(link_ == LinkState::kOpen, "who is not welcome has no heartbeat");
}

void BareWorker::Do(const PrepareAttempt& effect) {
  const protocol::Prepare& prepare = effect.prepare;
  Check(link_ == LinkState::kOpen, "only who is welcome is given work");
  Check(!leaving_ && !agent_->yield().reclaimed(), "a PC that is not lent takes no work");
  Check(protocol::ArePossibleRanks(prepare.first_rank, prepare.ranks), "its ranks are possible");
  Check(parts_.count(prepare.ref) == 0, "nothing is prepared twice");
  for (const auto& [ref, part] : parts_) {
    Check(!part.live || !Shares(part.devices, prepare.devices), "no device is given twice");
    Check(ref.run != prepare.ref.run || ref.number < prepare.ref.number, "nothing older is begun");
    Check(ref.run != prepare.ref.run || !part.live || part.stop_asked, "one attempt of a run");
  }
  Part& part = parts_[prepare.ref];
  part.devices = prepare.devices;
  part.stop_grace = prepare.stop_grace;
  for (int32_t i = 0; i < prepare.ranks; ++i)
    part.ranks.push_back({.rank = prepare.first_rank + i});
}

void BareWorker::Do(const StartAttempt& effect) {
  const auto it = parts_.find(effect.start.ref);
  Check(it != parts_.end() && it->second.live, "what is over is not started");
  Part& part = it->second;
  Check(part.prepared && !part.adopted, "only what this process has prepared is started");
  Check(!part.start_asked, "nothing is started twice");
  Check(!part.stop_asked, "what is being stopped is not started");
  part.start_asked = true;
  part.witnessed = effect.start.witnessed;
}

void BareWorker::Do(const StopAttempt& effect) {
  const auto it = parts_.find(effect.ref);
  Check(it != parts_.end() && it->second.live, "only what lives is stopped");
  Check(effect.grace >= absl::ZeroDuration() && effect.grace <= protocol::kMaxSpan, "a grace ends");
  it->second.stop_asked = true;
}

void BareWorker::Do(const DropAttempt& effect) {
  auto it = parts_.find(effect.ref);
  // An attempt that was refused has no files, but is answered nevertheless.
  if (it == parts_.end())
    it = parts_.emplace(effect.ref, Part{.live = false, .refused = true}).first;
  Check(!it->second.live, "the files of what lives stay");
  Check(!std::exchange(it->second.drop_asked, true), "nothing is dropped twice");
}

void BareWorker::Do(const ExtendLeases&) {
  const bool contact = link_ == LinkState::kOpen || lost_at_ == now_.mono;
  Check(contact && AnyLive(), "only contact extends a lease");
}

void BareWorker::Do(const SetFence& effect) {
  const auto it = parts_.find(effect.ref);
  Check(it != parts_.end() && it->second.live, "only what lives is fenced");
  Part& part = it->second;
  Check(welcomed_, "who was never welcome has no contact");
  Check(effect.until <= now_.mono + std::max(welcome_.contact_limit, welcome_.vouch_limit),
        "no fence is later than contact or all nodes allow");
  Check(!part.fence || *part.fence <= effect.until, "a fence only moves on");
  part.fence = effect.until;
}

void BareWorker::Do(const RecallRanks& effect) {
  Check(link_ == LinkState::kOpen, "only who is welcome is told of other nodes");
  Effects effects;
  agent_->OnRecalled({effect.recall.ref, effect.recall.node, absl::OkStatus()}, &effects);
  Do(effects);
}

void BareWorker::Do(const SaveOwner& effect) {
  saved_owner_ = effect.state;
  Check(effect.state == agent_->yield().state(), "what is saved of the owner is so");
}

void BareWorker::Do(const Sleep&) { Check(!AnyLive(), "a PC with ranks does not sleep"); }

void BareWorker::Do(const Note& effect) { Check(!effect.text.empty(), "a note has words"); }

// ------------------------------------------------------------------------------ what always holds

bool BareWorker::EndedWell(const Part& part) {
  return std::all_of(part.ranks.begin(), part.ranks.end(), [](const AdoptedAttempt::Rank& rank) {
    return rank.exit && rank.exit->exit_code == 0;
  });
}

void BareWorker::CheckAlike() {
  for (const auto& [ref, attempt] : agent_->attempts()) {
    const auto it = parts_.find(ref);
    if (it == parts_.end()) {
      Check(!attempt.live(), "what lives was prepared");
      // The attempt was refused; only Forget is left for it.
      parts_.emplace(ref, Part{.live = false, .refused = true});
      continue;
    }
    const Part& part = it->second;
    Check(attempt.live() == part.live, "agent and shell agree on what lives");
    const bool vouches = agent_->Vouches(now_, ref);
    if (!vouches) continue;
    Check(part.witnessed && !part.stop_asked, "only what goes on is vouched for");
    Check(part.live || EndedWell(part), "or what has ended well");
    Check(welcomed_, "who was never welcome vouches for nothing");
    Check(now_.mono >= part.silent_until, "a promise not to vouch is kept");
  }
  for (const auto& [ref, part] : parts_) {
    Check(agent_->attempts().count(ref) == 1, "nothing is lost from sight");
  }
  Check((link_ == LinkState::kClosed) ==
            (agent_->connection().state() == Connection::State::kWaiting),
        "agent and shell agree on the stream");
  Check(!agent_->ReadyToExit() || leaving_, "only who leaves exits");
}

void BareWorker::CheckAfterTick() const {
  Check(agent_->NextDeadline() > now_.mono, "what is due was done");
  const bool cut_off = agent_->connection().SilenceLimit() <= now_.mono;
  for (const auto& [ref, part] : parts_) {
    if (!part.live) continue;
    Check(!agent_->yield().reclaimed() || part.stop_asked, "what is the owner's is given back");
    Check(!cut_off || part.stop_asked, "nothing goes on without a coordinator");
    for (const auto& [other_ref, other] : parts_) {
      if (other_ref == ref || !other.live || !Shares(part.devices, other.devices)) continue;
      Check(part.stop_asked && other.stop_asked, "no device is shared");
    }
  }
}

}  // namespace hpc::worker
