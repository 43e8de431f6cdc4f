// A supervisor's stop: its ranks are told, and killed when their grace is over.
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <limits>

#include "worker/loop/boot_time.h"
#include "worker/supervisor/supervisor.h"

namespace hpc::worker {
namespace {

constexpr int64_t kMs = 1'000'000;
// How many rounds of killing follow each other, against processes that keep forking. After them
// comes a pause in which they can die.
constexpr int kKillRounds = 8;
constexpr int64_t kKillPause = 1 * kMs;
constexpr int64_t kLongKillPause = 20 * kMs;
// A process that has not died after this long is stuck in the kernel.
constexpr int64_t kStuckAfter = 5000 * kMs;
constexpr int64_t kTellStuckEvery = 1000 * kMs;
constexpr size_t kMaxSurvivorsTold = 1000;

}  // namespace

int Supervisor::StopSignal(const StopRanks& order) const {
  if (spec_.stop_signal != 0) return spec_.stop_signal;
  return order.interrupt ? SIGINT : SIGTERM;
}

void Supervisor::BeginStop(const StopRanks& order) {
  const int64_t now = BootTimeNs();
  const int64_t deadline = now + std::max<int64_t>(order.grace_ms, 0) * kMs;
  if (phase_ >= Phase::kStopping) {
    // A second request can only hasten the first one.
    if (phase_ == Phase::kStopping) kill_deadline_ns_ = std::min(kill_deadline_ns_, deadline);
    return;
  }
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  // Ends that are held back came before the stop. But the PC is going down if the stop is a
  // SIGTERM, and most likely if another node recalls the ranks. Then these ends came of that, and
  // count as ordered.
  if (order.reason != kSigtermReason && order.reason != kRecallReason) ReleaseEnds(kAll);
  stopping_ = true;
  book_.Record(StopBegan{.reason = order.reason, .at_ns = now});
  ReleaseEnds(kAll);
  if (phase_ < Phase::kRunning || order.grace_ms <= 0) return BeginKill();
  kill_deadline_ns_ = phase_ == Phase::kLeaving ? std::min(kill_deadline_ns_, deadline) : deadline;
  phase_ = Phase::kStopping;
  first_signal_ns_ = now;
  for (const Rank& rank : ranks_) {
    if (rank.pid >= 0) signals_.TellRank(rank.pid, StopSignal(order));
  }
}

void Supervisor::BeginKill() {
  phase_ = Phase::kKilling;
  ContinueKill(BootTimeNs());
}

void Supervisor::ContinueKill(int64_t now) {
  for (int round = 0; round < kKillRounds; ++round) {
    if (Reap()) return BecomeGone();
    if (first_kill_ns_ == 0) first_kill_ns_ = now;
    if (first_signal_ns_ == 0) first_signal_ns_ = now;
    containment_.Kill();
    sched_yield();
  }
  const bool slow = now - first_kill_ns_ > 100 * kMs;
  next_kill_ns_ = BootTimeNs() + (slow ? kLongKillPause : kKillPause);
}

void Supervisor::TellSurvivors(int64_t now) {
  if (now < first_kill_ns_ + kStuckAfter || now < next_not_gone_ns_) return;
  next_not_gone_ns_ = now + kTellStuckEvery;
  NotGone not_gone{.pids = containment_.Survivors()};
  if (not_gone.pids.size() > kMaxSurvivorsTold) not_gone.pids.resize(kMaxSurvivorsTold);
  feed_.Offer(not_gone);
}

void Supervisor::BecomeGone() {
  phase_ = Phase::kGone;
  gone_ns_ = BootTimeNs();
  outputs_.Finish();
}

void Supervisor::RecordGone() {
  gone_recorded_ = true;
  book_.RecordLast({.at_ns = gone_ns_,
                    .kill_ns = first_signal_ns_ == 0 ? 0 : gone_ns_ - first_signal_ns_,
                    .killed = killed_},
                   gone_ns_ + EventBook::kFilesPatience);
  journal_unsynced_ = true;
}

}  // namespace hpc::worker
