// The lives of a supervisor's ranks: they are started, and their ends are recorded.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <limits>

#include "worker/loop/boot_time.h"
#include "worker/supervisor/os/process_stat.h"
#include "worker/supervisor/supervisor.h"

namespace hpc::worker {
namespace {

constexpr int64_t kMs = 1'000'000;
// How often it is looked which ranks catch SIGTERM. Programs install their handlers early. They are
// looked at while they run, since Python removes its handlers before it ends.
constexpr int64_t kLookAtHandlersEvery = 250 * kMs, kLookAtNewOnesEvery = 25 * kMs;
constexpr int64_t kNew = 2000 * kMs;
// A PC that goes down sends SIGTERM to all of its processes, and perhaps to a rank first. So an end
// that may be the answer to it is held back this long, in case this supervisor gets SIGTERM, too.
// The coordinator also waits before it judges a failure, but would take a success as final.
constexpr int64_t kHoldSuccess = 500 * kMs;
constexpr int64_t kHoldFailure = 100 * kMs;

constexpr int64_t kLongestLeaveAfterFailure = 1000 * kMs;
// How often it is looked who is left. The supervisor does not hear of the end of a process that is
// no child of its own, and that end may leave orphans.
constexpr int64_t kLookWhoIsLeftEvery = 50 * kMs;

int64_t TimeToHoldBack(int status, bool catches_sigterm) {
  const bool terminated = WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM;
  if (!catches_sigterm && !terminated) return 0;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? kHoldSuccess : kHoldFailure;
}

int64_t Microseconds(const timeval& time) {
  return int64_t{time.tv_sec} * 1'000'000 + time.tv_usec;
}

}  // namespace

void Supervisor::StartRanksNow() {
  phase_ = Phase::kRunning;
  if (spec_.warm && !spec_.ranks.empty())
    spec_.ranks[0].env.push_back(WarmUp::NoteVariable(spec_.dir));
  for (size_t i = 0; i < ranks_.size(); ++i) StartOne(i);
  outputs_.Watch();
}

LaunchPlan Supervisor::PlanOf(size_t rank) const {
  return {.rank = &spec_.ranks[rank],
          .added_env = &start_.env,
          .workdir = spec_.workdir,
          .umask = static_cast<mode_t>(spec_.umask),
          .stdin_fd = place_.null.get(),
          .stdout_fd = outputs_.stdout_of(rank).write_fd(),
          .stderr_fd = outputs_.stderr_of(rank).write_fd(),
          .leaf = containment_.leaf(),
          .reset_oom_score = place_.reset_oom_score,
          .open_files = place_.open_files};
}

// The first rank of a node shows how all of them are started.
LaunchedRank Supervisor::Launch(size_t i) {
  const LaunchPlan plan = PlanOf(i);
  if (!spec_.warm) return LaunchRank(plan);
  if (i == 0 || copies_) {
    auto copy = place_.warm.Launch(plan);
    copies_ = copy.has_value();
    if (i == 0) feed_.Offer(StartedWarm{copies_, copies_ ? "" : place_.warm.reason()});
    if (copies_) return *std::move(copy);
  }
  LaunchedRank launched = LaunchRank(plan);
  if (i == 0 && launched.pid > 0) warm_up_.Begin(plan, launched.pid, ranks_[i].launched_ns);
  return launched;
}

void Supervisor::StartOne(size_t i) {
  Rank& rank = ranks_[i];
  // Taken before the launch, since a quick program may have ended when the news of its start is
  // read.
  rank.launched_ns = BootTimeNs();
  LaunchedRank launched = Launch(i);
  if (launched.pid < 0) {
    rank.state = Rank::State::kEnded;
    failed_ = true;
    book_.Record(RankStartFailed{
        .rank = spec_.ranks[i].rank, .error = launched.error, .what = "fork a rank's process"});
    return;
  }
  rank.state = Rank::State::kStarting;
  rank.pid = launched.pid;
  rank.status = std::move(launched.status);
  poller_.Add(rank.status.get(), [this, i] { OnLaunchStatus(i); });
}

void Supervisor::OnLaunchStatus(size_t i) {
  Rank& rank = ranks_[i];
  std::optional<RankStartFailed> failed;
  if (!ReadLaunchStatus(PlanOf(i), rank.status.get(), &failed)) return;
  poller_.Remove(rank.status.get());
  rank.status.Reset();
  if (failed) {
    rank.state = Rank::State::kEnded;
    failed_ = true;
    book_.Record(*failed);
  } else {
    rank.state = Rank::State::kRunning;
    book_.Record(
        RankStarted{.rank = spec_.ranks[i].rank, .pid = rank.pid, .at_ns = rank.launched_ns});
  }
  // These are not needed again, and may be large.
  spec_.ranks[i].argv = {};
  spec_.ranks[i].env = {};
}

bool Supervisor::Reap() {
  return containment_.Reap(
      [this](int64_t pid, int status, const rusage& usage) { OnReaped(pid, status, usage); });
}

void Supervisor::OnReaped(int64_t pid, int status, const rusage& usage) {
  next_look_who_is_left_ns_ = 0;
  if (first_kill_ns_ != 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ++killed_;
  const auto it =
      std::find_if(ranks_.begin(), ranks_.end(), [&](const Rank& r) { return r.pid == pid; });
  if (it == ranks_.end()) return;  // a descendant that has lost its parent
  const size_t i = it - ranks_.begin();
  if (it->state == Rank::State::kStarting) OnLaunchStatus(i);
  it->pid = -1;
  // The rank never ran, and that was told.
  if (it->state == Rank::State::kEnded) return;
  if (looked_ns_ != 0) book_.Record(Looked{.at_ns = looked_ns_});
  const RankExited exited{.rank = spec_.ranks[i].rank,
                          .wait_status = status,
                          .after_stop = stopping_,
                          .at_ns = BootTimeNs(),
                          .user_us = Microseconds(usage.ru_utime),
                          .system_us = Microseconds(usage.ru_stime),
                          .max_rss_kb = usage.ru_maxrss};
  const int64_t hold = stopping_ ? 0 : TimeToHoldBack(status, it->catches_sigterm);
  if (hold == 0) return RecordEnd(&*it, exited);
  it->held_back = exited;
  it->held_until_ns = exited.at_ns + hold;
}

void Supervisor::LookWhoCatchesSigterm(int64_t now) {
  if (now < next_look_at_handlers_ns_) return;
  next_look_at_handlers_ns_ = now + kLookAtHandlersEvery;
  for (Rank& rank : ranks_) {
    if (rank.pid < 0 || rank.catches_sigterm) continue;
    // Until it executes its program, its process still blocks the signals that we block.
    if (rank.state == Rank::State::kRunning)
      rank.catches_sigterm = AnswersSignal(rank.pid, SIGTERM);
    if (now < rank.launched_ns + kNew) next_look_at_handlers_ns_ = now + kLookAtNewOnesEvery;
  }
}

void Supervisor::RecordEnd(Rank* rank, const RankExited& exited) {
  rank->state = Rank::State::kEnded;
  failed_ |= exited.wait_status != 0;
  if (rank->catches_sigterm) book_.Record(CaughtSigterm{.rank = exited.rank});
  book_.Record(exited);
  journal_unsynced_ = true;
}

void Supervisor::ReleaseEnds(int64_t until_ns) {
  for (Rank& rank : ranks_) {
    if (!rank.held_back || rank.held_until_ns > until_ns) continue;
    rank.held_back->after_stop = stopping_;
    RecordEnd(&rank, *rank.held_back);
    rank.held_back.reset();
  }
}

bool Supervisor::AllEnded() const {
  return std::all_of(ranks_.begin(), ranks_.end(),
                     [](const Rank& rank) { return rank.state == Rank::State::kEnded; });
}

// What the ranks have left may have something to finish: a tracker uploads, and Python's resource
// tracker removes the shared memory that nobody needs any more. After a failure other nodes wait,
// so it gets less time.
void Supervisor::BeginLeaving(int64_t now) {
  phase_ = Phase::kLeaving;
  const int64_t longest = failed_ ? kLongestLeaveAfterFailure : std::numeric_limits<int64_t>::max();
  kill_deadline_ns_ = now + std::min(spec_.leave_ms * kMs, longest);
}

void Supervisor::LookWhoIsLeft(int64_t now) {
  if (now < next_look_who_is_left_ns_) return;
  next_look_who_is_left_ns_ = now + kLookWhoIsLeftEvery;
  if (phase_ == Phase::kStopping) signals_.TellOrphans();
  if (AllEnded() && Reap()) BecomeGone();
}

}  // namespace hpc::worker
