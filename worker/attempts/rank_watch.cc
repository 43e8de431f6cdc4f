#include "worker/attempts/rank_watch.h"

#include <algorithm>
#include <utility>

#include "absl/time/time.h"
#include "worker/attempts/event_age.h"
#include "worker/attempts/rank_exit.h"
#include "worker/loop/boot_time.h"

namespace hpc::worker {
namespace {

// How long a failure waits for the last words of the rank. They come through a pipe that may still
// have to be read when the process is gone.
constexpr absl::Duration kLastWords = absl::Milliseconds(50);

}  // namespace

RankWatch::RankWatch(EventLoop* loop, std::string dir, OnExit on_exit)
    : loop_(loop), dir_(std::move(dir)), on_exit_(std::move(on_exit)) {}

RankWatch::~RankWatch() {
  for (auto& [rank, pending] : pending_) loop_->Cancel(pending.timer);
}

void RankWatch::Exited(const RankExited& event) {
  ended_.insert(event.rank);
  const auto [it, inserted] = pending_.try_emplace(event.rank);
  if (!inserted) return;
  Pending& pending = it->second;
  pending.exit = ToRankExit(event);
  pending.exit.catches_sigterm = catches_sigterm_.count(event.rank) > 0;
  pending.at_ns = event.at_ns;
  pending.within_ns = looked_ns_ == 0 ? 0 : std::max<int64_t>(event.at_ns - looked_ns_, 0);
  if (pending.exit.exit_code == 0 || ExplainByErrorFile(dir_, event.rank, &pending.exit)) {
    return Tell(event.rank);
  }
  pending.timer =
      loop_->At(loop_->clock().Get().mono + kLastWords, [this, rank = event.rank] { Tell(rank); });
}

void RankWatch::Tell(int32_t rank) {
  const auto it = pending_.find(rank);
  if (it == pending_.end()) return;
  Pending pending = std::move(it->second);
  pending_.erase(it);
  loop_->Cancel(pending.timer);
  ExplainExit(dir_, rank, &pending.exit);
  const absl::Duration ended = EventAge(pending.at_ns, BootTimeNs());
  DateWords(dir_, rank, loop_->clock().Get().wall - ended, &pending.exit);
  const absl::Duration ran =
      absl::Nanoseconds(pending.at_ns) - absl::Nanoseconds(started_[rank].at_ns);
  on_exit_(rank, pending.exit, {ended + ran, ended, absl::Nanoseconds(pending.within_ns)});
}

void RankWatch::TellAll() {
  while (!pending_.empty()) Tell(pending_.begin()->first);
}

std::vector<RankStarted> RankWatch::started() const {
  std::vector<RankStarted> all;
  for (const auto& [rank, started] : started_) all.push_back(started);
  return all;
}

std::vector<RankStarted> RankWatch::running() const {
  std::vector<RankStarted> found;
  for (const auto& [rank, started] : started_) {
    if (ended_.count(rank) == 0) found.push_back(started);
  }
  return found;
}

}  // namespace hpc::worker
