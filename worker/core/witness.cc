#include "worker/core/witness.h"

#include <algorithm>

namespace hpc::worker {

std::optional<KeepaliveAnswer> Witness::Answer(MonoTime now, const Keepalive& asked, bool vouches) {
  const bool known = asked.node_rank >= 1 && static_cast<size_t>(asked.node_rank) <= others_.size();
  if (asked.ref != ref_ || !known || asked.echo > now) return std::nullopt;
  Other& other = others_[static_cast<size_t>(asked.node_rank) - 1];
  if (asked.vouch != Vouch::kNo) other.there = std::max(other.there, asked.echo);
  if (asked.vouch == Vouch::kForGood) other.awaited = false;
  KeepaliveAnswer answer{asked.sent, now, std::nullopt};
  const std::optional<MonoTime> whole_at = WholeAt();
  if (vouches && whole_at) answer.whole_ago = now - *whole_at;
  return answer;
}

std::optional<MonoTime> Witness::WholeAt() const {
  MonoTime first = MonoTime::Infinite(), last;
  for (const Other& other : others_) {
    last = std::max(last, other.there);
    if (other.awaited) first = std::min(first, other.there);
  }
  const MonoTime whole = std::min(first, last);
  if (whole == MonoTime{}) return std::nullopt;
  return whole;
}

Keepalive Asker::Ask(MonoTime now, Vouch vouch) {
  asked_ = now;
  return {ref_, node_rank_, vouch, now, echo_};
}

std::optional<MonoTime> Asker::OnAnswer(const KeepaliveAnswer& answer) {
  if (asked_ != answer.sent) return std::nullopt;
  asked_.reset();
  echo_ = answer.stamp;
  if (!answer.whole_ago) return std::nullopt;
  return answer.sent - *answer.whole_ago;
}

}  // namespace hpc::worker
