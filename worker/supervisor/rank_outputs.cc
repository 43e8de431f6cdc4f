#include "worker/supervisor/rank_outputs.h"

#include <algorithm>

#include "worker/runtime/boot_time.h"

namespace hpc::worker {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kTellEvery = 20 * kMs;
// A rank that writes many short lines would wake us for each: after two within kBusy it is left
// alone for kPause, in which the pipe fills by less than it holds.
constexpr int64_t kBusy = 1 * kMs;
constexpr int64_t kPause = 2 * kMs;
constexpr int64_t kFewBytes = 64 << 10;

}  // namespace

bool RankOutputs::Open(const std::vector<RankSpec>& ranks, int64_t limit) {
  streams_.reserve(2 * ranks.size());
  for (const RankSpec& rank : ranks) {
    for (const bool is_stderr : {false, true}) {
      streams_.emplace_back(rank.rank, is_stderr, limit);
      if (!streams_.back().Open()) return false;
    }
  }
  cares_.resize(streams_.size());
  return true;
}

void RankOutputs::Watch() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].CloseWriteEnd();
    Watch(i);
  }
}

void RankOutputs::Watch(size_t stream) {
  cares_[stream].watched = true;
  poller_->Add(streams_[stream].read_fd(), [this, stream] { OnReadable(stream); });
}

void RankOutputs::OnReadable(size_t stream) {
  Care& care = cares_[stream];
  const int64_t taken = streams_[stream].Pump();
  const bool ended = streams_[stream].ended();
  if (taken > 0 || ended) care.outdated = true;
  const int64_t now = BootTimeNs();
  const bool busy = taken > 0 && taken < kFewBytes && now - care.pumped_ns < kBusy;
  if (taken > 0) care.pumped_ns = now;
  if (!ended && !busy) return;
  poller_->Remove(streams_[stream].read_fd());
  care.watched = false;
  care.resume_ns = ended ? Poller::kNever : now + kPause;
}

void RankOutputs::Resume(int64_t now) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (cares_[i].watched || cares_[i].resume_ns == 0 || cares_[i].resume_ns > now) continue;
    Watch(i);
    OnReadable(i);
  }
}

void RankOutputs::Finish() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (cares_[i].watched) poller_->Remove(streams_[i].read_fd());
    cares_[i].watched = false;
    cares_[i].resume_ns = Poller::kNever;
    if (!streams_[i].ended()) cares_[i].outdated = true;
    streams_[i].Finish();
  }
}

void RankOutputs::Tell(int64_t now, EventFeed* feed, JournalFile* journal) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    Care& care = cares_[i];
    if (!care.outdated) continue;
    const bool ended = streams_[i].ended();
    if (!ended && now < care.told_ns + kTellEvery) continue;
    care.outdated = false;
    care.told_ns = now;
    feed->StreamGrew(i);
    const OutputGrown state = streams_[i].State();
    if (ended && state.cut_bytes > 0) journal->Add(state);
  }
}

int64_t RankOutputs::NextDeadline() const {
  int64_t next = Poller::kNever;
  for (const Care& care : cares_) {
    if (!care.watched && care.resume_ns > 0) next = std::min(next, care.resume_ns);
    if (care.outdated) next = std::min(next, care.told_ns + kTellEvery);
  }
  return next;
}

}  // namespace hpc::worker
