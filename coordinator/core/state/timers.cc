#include "coordinator/core/state/timers.h"

#include <vector>

namespace hpc::coordinator {
namespace {

bool IsOfNode(Alarm alarm) {
  switch (alarm) {
    case Alarm::kLease:
    case Alarm::kPower:
    case Alarm::kLend:
    case Alarm::kLeaveAlone:
    case Alarm::kDoubt:
      return true;
    case Alarm::kPhase:
    case Alarm::kFence:
    case Alarm::kRetry:
    case Alarm::kRendezvous:
    case Alarm::kLastCall:
    case Alarm::kGrow:
    case Alarm::kHold:
    case Alarm::kWord:
      return false;
  }
  return false;
}

}  // namespace

void Timers::Set(Alarm alarm, int64_t subject, MonoTime at) {
  if (at == MonoTime::Infinite()) return Stop(alarm, subject);
  const TimerKey key{alarm, subject};
  auto [it, inserted] = times_.try_emplace(key, at);
  if (!inserted) {
    if (it->second == at) return;
    by_time_.erase({it->second, key});
    it->second = at;
  }
  by_time_.insert({at, key});
}

void Timers::Stop(Alarm alarm, int64_t subject) {
  const TimerKey key{alarm, subject};
  auto it = times_.find(key);
  if (it == times_.end()) return;
  by_time_.erase({it->second, key});
  times_.erase(it);
}

void Timers::StopAllOfNode(int64_t node) {
  std::vector<TimerKey> keys;
  for (const auto& [key, at] : times_) {
    if (key.subject == node && IsOfNode(key.alarm)) keys.push_back(key);
  }
  for (const TimerKey& key : keys) Stop(key.alarm, key.subject);
}

std::optional<TimerKey> Timers::PopDue(MonoTime now) {
  if (by_time_.empty() || now < by_time_.begin()->first) return std::nullopt;
  const TimerKey key = by_time_.begin()->second;
  Stop(key.alarm, key.subject);
  return key;
}

MonoTime Timers::Next() const {
  return by_time_.empty() ? MonoTime::Infinite() : by_time_.begin()->first;
}

}  // namespace hpc::coordinator
