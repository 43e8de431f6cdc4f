#include "worker/supervisor/output/rank_outputs.h"

#include <errno.h>

#include <algorithm>

#include "worker/loop/boot_time.h"

namespace hpc::worker {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kTellEvery = 20 * kMs;
constexpr int64_t kTellShortageEvery = 10'000 * kMs;
// A rank that writes many short lines would wake us for each of them. If a stream has something
// again within kBusy, it is left alone for kPause. The pipe does not fill up in that time. After
// that it is looked at in regular intervals for as long as it has something each time.
constexpr int64_t kBusy = 1 * kMs;
constexpr int64_t kPause = 2 * kMs;
constexpr int64_t kFewBytes = 64 << 10;

}  // namespace

bool RankOutputs::Open(const std::vector<RankSpec>& ranks, int64_t limit) {
  for (const RankSpec& rank : ranks) {
    for (const bool is_stderr : {false, true}) {
      streams_.push_back(std::make_shared<OutputStream>(rank.rank, is_stderr, limit));
      if (!streams_.back()->Open()) {
        const int error = errno;
        // The pipes are closed, since reporting this error takes a descriptor.
        streams_.clear();
        errno = error;
        return false;
      }
      states_.push_back(streams_.back()->State());
    }
  }
  cares_.resize(streams_.size());
  return true;
}

void RankOutputs::Watch() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    streams_[i]->CloseWriteEnd();
    cares_[i].watched = true;
    poller_->AddOnce(streams_[i]->read_fd(), [this, i] { Pump(i); });
  }
}

void RankOutputs::Unwatch(size_t stream) {
  if (!std::exchange(cares_[stream].watched, false)) return;
  poller_->Remove(streams_[stream]->read_fd());
}

void RankOutputs::Pump(size_t stream) {
  Care& care = cares_[stream];
  care.resume_ns = Poller::kNever;
  if (EndIfUnused(stream)) return;
  care.pumping = true;
  Take(stream, &OutputStream::Pump);
}

void RankOutputs::Take(size_t stream, int64_t (OutputStream::*how)()) {
  auto pumped = std::make_shared<Pumped>();
  writer_->Run(
      [output = streams_[stream], how, pumped] {
        pumped->taken = (output.get()->*how)();
        pumped->refusal = output->refusal();
        pumped->state = output->State();
      },
      [this, stream, pumped] { OnPumped(stream, *pumped); });
}

bool RankOutputs::EndIfUnused(size_t stream) {
  if (cares_[stream].pumping || !streams_[stream]->EndIfUnused()) return false;
  Unwatch(stream);
  states_[stream] = streams_[stream]->State();
  cares_[stream].outdated = true;
  return true;
}

void RankOutputs::OnPumped(size_t stream, const Pumped& pumped) {
  Care& care = cares_[stream];
  const auto& [taken, refusal, state] = pumped;
  if (taken > 0 && refusal != shortage_.error) {
    const std::string file =
        "rank-" + std::to_string(state.rank) + (state.is_stderr ? ".err" : ".out");
    shortage_ = {.error = refusal, .what = "write " + file, .at_ns = BootTimeNs()};
  }
  care.pumping = false;
  states_[stream] = state;
  if (taken > 0 || state.ended) care.outdated = true;
  if (finishing_) return;
  if (state.ended) return Unwatch(stream);
  const int64_t now = BootTimeNs();
  const bool few = taken > 0 && taken < kFewBytes;
  const bool busy = few && (care.quick || now - care.pumped_ns < kBusy);
  if (taken > 0) care.pumped_ns = now;
  care.quick = busy;
  if (busy) {
    care.resume_ns = now + kPause;
  } else {
    poller_->Rearm(streams_[stream]->read_fd());
  }
}

void RankOutputs::Resume(int64_t now) {
  if (finishing_) return;
  for (size_t i = 0; i < streams_.size(); ++i) {
    if (cares_[i].resume_ns <= now) Pump(i);
  }
}

void RankOutputs::Finish() {
  finishing_ = true;
  for (size_t i = 0; i < streams_.size(); ++i) {
    Unwatch(i);
    cares_[i].resume_ns = Poller::kNever;
    streams_[i]->CloseWriteEnd();
    if (!states_[i].ended && !EndIfUnused(i)) Take(i, &OutputStream::Finish);
  }
}

bool RankOutputs::Finished() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](const OutputGrown& state) { return state.ended; });
}

void RankOutputs::GiveUp() {
  for (size_t i = 0; i < states_.size(); ++i) {
    if (!std::exchange(states_[i].ended, true)) cares_[i].outdated = true;
  }
}

void RankOutputs::TellShortage(int64_t now, EventBook* book) {
  if (shortage_.error == told_error_ || now < next_shortage_ns_) return;
  told_error_ = shortage_.error;
  next_shortage_ns_ = now + kTellShortageEvery;
  book->Record(shortage_);
}

void RankOutputs::Tell(int64_t now, EventFeed* feed, EventBook* book) {
  TellShortage(now, book);
  for (size_t i = 0; i < states_.size(); ++i) {
    Care& care = cares_[i];
    if (!care.outdated) continue;
    const OutputGrown& state = states_[i];
    if (!state.ended && now < care.told_ns + kTellEvery) continue;
    care.outdated = false;
    care.told_ns = now;
    feed->StreamGrew(i);
    if (state.ended && state.cut_bytes > 0) book->Note(state);
  }
}

int64_t RankOutputs::NextDeadline() const {
  int64_t next = shortage_.error == told_error_ ? Poller::kNever : next_shortage_ns_;
  for (const Care& care : cares_) {
    next = std::min(next, care.resume_ns);
    if (care.outdated) next = std::min(next, care.told_ns + kTellEvery);
  }
  return next;
}

}  // namespace hpc::worker
