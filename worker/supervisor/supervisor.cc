#include "worker/supervisor/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "worker/loop/boot_time.h"
#include "worker/supervisor/os/small_file.h"
#include "worker/supervisor/say.h"

namespace hpc::worker {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kScopeWait = 1000 * kMs;
constexpr int64_t kScopePoll = 1 * kMs;
// How long a worker that does not read can keep a finished supervisor. The journal has everything.
constexpr int64_t kLastWords = 2000 * kMs;
// How often the supervisor looks whether a rank has ended. The kernel tells of each end, but only a
// look can show that a rank had not ended yet.
constexpr int64_t kLookEvery = 250 * kMs;

}  // namespace

Supervisor::Supervisor(SupervisorSpec spec, Workplace* place)
    : spec_(std::move(spec)),
      place_(*place),
      poller_(place->poller),
      containment_(place->containment),
      writer_(place->writer),
      outputs_(&poller_, &writer_),
      feed_(&poller_, &outputs_.states(),
            [this](const SupervisorCommand& command) { OnCommand(command); }),
      book_(&writer_, &feed_),
      recall_(&poller_,
              [this](int64_t grace_ms) {
                StopOnOrder({grace_ms, kRecallReason});
              }),
      ranks_(spec_.ranks.size()),
      warm_up_(&place->warm, &place->containment, &place->writer) {}

bool Supervisor::Prepare(UniqueFd journal, UniqueFd recall) {
  if (!poller_.ok()) return SayErrno("epoll");
  if (!writer_.Start()) return SayErrno("start a thread");
  book_.Adopt(std::move(journal), spec_.ranks.size());
  std::string lacks;
  if (!place_.Furnish(&lacks)) return Lack(lacks);
  poller_.Add(place_.signals.get(), [this] { OnSignals(); });
  if (!outputs_.Open(spec_.ranks, spec_.output_limit_bytes)) return Lack("pipe for a rank");
  if (!feed_.Listen(std::move(place_.listener))) return Lack("listen on supervisor.sock");
  feed_.AdoptOwn(std::move(place_.worker));
  recall_.Hold(std::move(recall), {spec_.recall_key, spec_.recall_proof}, spec_.recall_from);
  lease_deadline_ns_ = BootTimeNs() + spec_.lease_ms * kMs;
  ChooseContainment();
  return true;
}

// Notes that something is lacking. The journal has room for this even if the log does not.
bool Supervisor::Lack(const std::string& what) {
  const int error = errno;
  SayLater(InWords(what));
  book_.Record(Shortage{.error = error, .what = what, .at_ns = BootTimeNs()});
  book_.Turn(BootTimeNs());
  writer_.WaitIdle(BootTimeNs() + EventBook::kPatience);
  return false;
}

void Supervisor::ChooseContainment() {
  if (containment_.leaf() != nullptr) return BecomeReady();  // the leaf of the attempt before
  if (!spec_.cgroup_parent.empty()) {
    if (!containment_.UseCgroup(spec_.cgroup_parent, spec_.cgroup_leaf)) {
      SayLater(InWords("no cgroup " + spec_.cgroup_parent + "/" + spec_.cgroup_leaf));
    }
    BecomeReady();
  } else if (spec_.scope.empty() || Cgroup2Mount().empty()) {
    BecomeReady();
  } else {
    scope_deadline_ns_ = BootTimeNs() + kScopeWait;
    SettleScope(BootTimeNs());
  }
}

void Supervisor::SettleScope(int64_t now) {
  if (!containment_.UseScope(spec_.scope)) {
    // EACCES: the folder is ours, but the worker has not yet lent it to our account.
    const bool soon = errno == ESRCH || errno == EACCES;
    if (soon && now < scope_deadline_ns_ && !scope_refused_) return;
    SayLater(scope_refused_ ? "no scope: refused" : InWords("no scope"));
  }
  BecomeReady();
}

void Supervisor::BecomeReady() {
  phase_ = Phase::kReady;
  book_.Begin(
      JournalHeader{.pid = getpid(),
                    .containment = containment_.kind(),
                    .boot_id = BootId(),
                    .cgroup = containment_.leaf() == nullptr ? "" : containment_.leaf()->path()});
  book_.Record(SupervisorReady{.pid = getpid(), .containment = containment_.kind()});
  if (start_wanted_) StartRanksNow();
}

void Supervisor::OnSignals() {
  bool term = false;
  signalfd_siginfo info;
  while (read(place_.signals.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGTERM) term = true;
  }
  // This comes first. If everybody is told to go at once, ranks that obeyed have ended after a
  // stop.
  if (term) BeginStop({spec_.default_grace_ms, kSigtermReason});
  told_to_end_ |= term;
  if (phase_ == Phase::kKilling) {
    ContinueKill(BootTimeNs());
  } else {
    Reap();
  }
}

// What the kernel has to tell is taken first, since this process may have stood still meanwhile. A
// rank that has ended before it could be told to has ended by itself.
void Supervisor::StopOnOrder(const StopRanks& order) {
  OnSignals();
  BeginStop(order);
}

void Supervisor::OnCommand(const SupervisorCommand& command) {
  if (const auto* start = std::get_if<StartRanks>(&command)) {
    // The supervisor may stand still between any two commands, so the time is checked here.
    if (start_wanted_ || phase_ > Phase::kReady || BehindFence(BootTimeNs())) return;
    start_ = *start;
    start_wanted_ = true;
    if (phase_ == Phase::kReady) StartRanksNow();
  } else if (const auto* stop = std::get_if<StopRanks>(&command)) {
    StopOnOrder(*stop);
  } else if (std::holds_alternative<ExtendLease>(command)) {
    lease_deadline_ns_ = BootTimeNs() + spec_.lease_ms * kMs;
  } else if (const auto* fence = std::get_if<Fence>(&command)) {
    fence_ns_ = fence->at_ns;
  } else if (std::holds_alternative<KeepNothing>(command)) {
    warm_up_.Forget();
    place_.warm.End();
  } else {
    scope_refused_ = true;
  }
}

void Supervisor::SayLater(const std::string& line) {
  writer_.Run([line] { Say(line); });
}

void Supervisor::Advance(int64_t now) {
  if (phase_ < Phase::kKilling && BehindFence(now)) StopOnOrder({0, "fence"});
  if (phase_ == Phase::kPreparing) SettleScope(now);
  if (phase_ < Phase::kStopping && now >= lease_deadline_ns_) {
    StopOnOrder({spec_.default_grace_ms, "lease"});
  }
  if (phase_ == Phase::kRunning) LookWhoCatchesSigterm(now);
  if (phase_ == Phase::kRunning) warm_up_.Advance(now);
  ReleaseEnds(now);
  if (phase_ == Phase::kRunning && AllEnded()) BeginLeaving(now);
  if (IsEnding()) LookWhoIsLeft(now);
  if (IsEnding() && now >= kill_deadline_ns_) BeginKill();
  if (phase_ == Phase::kKilling && now >= next_kill_ns_) ContinueKill(now);
  if (phase_ == Phase::kKilling) TellSurvivors(now);
  outputs_.Resume(now);
}

int64_t Supervisor::NextDeadline() const {
  int64_t next = std::min(outputs_.NextDeadline(), book_.NextDeadline());
  if (phase_ == Phase::kPreparing) next = std::min(next, BootTimeNs() + kScopePoll);
  if (phase_ < Phase::kStopping) next = std::min(next, lease_deadline_ns_);
  if (phase_ < Phase::kKilling && fence_ns_ != 0) next = std::min(next, fence_ns_);
  if (phase_ == Phase::kRunning) {
    next = std::min(
        {next, looked_ns_ + kLookEvery, next_look_at_handlers_ns_, warm_up_.NextDeadline()});
  }
  for (const Rank& rank : ranks_) {
    if (rank.held_back) next = std::min(next, rank.held_until_ns);
  }
  if (IsEnding()) next = std::min({next, kill_deadline_ns_, next_look_who_is_left_ns_});
  if (phase_ == Phase::kKilling) next = std::min(next, next_kill_ns_);
  if (phase_ == Phase::kGone && told_ns_ == 0) {
    const int64_t waited = BootTimeNs() - gone_ns_;
    next = std::min(next, gone_ns_ + (waited < EventBook::kPatience ? EventBook::kPatience
                                                                    : EventBook::kFilesPatience));
  }
  if (told_ns_ != 0) next = std::min(next, told_ns_ + kLastWords);
  return next;
}

Supervisor::End Supervisor::Run() {
  for (;;) {
    const int64_t now = BootTimeNs();
    Advance(now);
    if (phase_ == Phase::kGone && now >= gone_ns_ + EventBook::kFilesPatience) outputs_.GiveUp();
    outputs_.Tell(now, &feed_, &book_);
    // What the ranks wrote must be stored first.
    if (phase_ == Phase::kGone && outputs_.Finished() && !gone_recorded_) RecordGone();
    book_.Turn(now);
    feed_.Flush();
    // Other nodes may recall the ranks only while no worker is connected; a worker could be asked.
    if (!feed_.HasConnection() && !recall_.Open()) SayLater(InWords("listen for a recall"));
    if (book_.Ended() && told_ns_ == 0) told_ns_ = now;
    if (told_ns_ != 0 || (phase_ == Phase::kGone && now >= gone_ns_ + EventBook::kPatience)) {
      recall_.TellGone();
    }
    if (told_ns_ != 0 && (feed_.Drained() || now >= told_ns_ + kLastWords)) break;
    SyncJournal();
    const int64_t waits_since = BootTimeNs();
    poller_.Wait(std::max(NextDeadline(), waits_since));
    // A signal that came before the wait has ended it and was handled, so every rank that had
    // ended by then is reaped.
    looked_ns_ = waits_since;
  }
  const bool tidy = IsTidy();
  if (tidy) warm_up_.LookNow();
  if (!tidy) containment_.Remove();
  SyncJournal();
  if (!writer_.WaitIdle(gone_ns_ + EventBook::kFilesPatience)) {
    containment_.Remove();
    // A process does not end before all of its threads do, and until then what it has open stays
    // open.
    feed_.Close();
    recall_.Close();
    return End::kHangs;
  }
  if (tidy) warm_up_.Finish();
  place_.worker = feed_.TakeOwn();
  place_.listener = feed_.TakeListener();
  feed_.Close();
  recall_.Close();
  place_.Clear();
  return tidy && place_.worker.ok() ? End::kTidy : End::kOver;
}

// This is true only if a cgroup shows that nothing is left. Without one, somebody else may have to
// look for traces of the ranks. If we were told to end, ranks of a next attempt may be told, too,
// and we would not hear of it: the PC goes down, or our scope is being stopped.
bool Supervisor::IsTidy() const {
  return containment_.IsTidy() && book_.Flawless() && !told_to_end_;
}

void Supervisor::SyncJournal() {
  // If the process dies, nothing is lost from an unsynced file. In a power cut the attempt is lost
  // anyway, unless an end of it was still to be told.
  if (std::exchange(journal_unsynced_, false) && !feed_.HasListener()) book_.Sync();
}

}  // namespace hpc::worker
