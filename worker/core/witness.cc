#include "worker/core/witness.h"

#include <algorithm>

namespace hpc::worker {

std::optional<KeepaliveAnswer> Witness::Answer(MonoTime now, const Keepalive& asked, bool vouches) {
  const bool known = asked.node_rank >= 1 && static_cast<size_t>(asked.node_rank) <= others_.size();
  if (asked.ref != ref_ || !known || asked.echo > now) return std::nullopt;
  Other& other = others_[static_cast<size_t>(asked.node_rank) - 1];
  other.heard = std::max(other.heard, asked.echo);
  if (asked.vouch != Vouch::kNo) other.there = std::max(other.there, asked.echo);
  if (asked.vouch == Vouch::kForGood) other.awaited = false;
  KeepaliveAnswer answer{asked.sent, now, std::nullopt, std::nullopt};
  const std::optional<MonoTime> whole_at = WholeAt(), heard_at = HeardAt();
  if (heard_at) answer.heard_ago = now - *heard_at;
  if (vouches && whole_at && whole_at == heard_at) answer.whole_ago = answer.heard_ago;
  return answer;
}

std::optional<MonoTime> Witness::LastTime(MonoTime Other::*at) const {
  MonoTime first = MonoTime::Infinite(), last;
  for (const Other& other : others_) {
    last = std::max(last, other.*at);
    if (other.awaited) first = std::min(first, other.*at);
  }
  const MonoTime whole = std::min(first, last);
  if (whole == MonoTime{}) return std::nullopt;
  return whole;
}

Keepalive Asker::Ask(MonoTime now, Vouch vouch) {
  asked_ = now;
  return {ref_, node_rank_, vouch, now, echo_};
}

Asker::Seen Asker::OnAnswer(const KeepaliveAnswer& answer) {
  if (asked_ != answer.sent) return {};
  asked_.reset();
  echo_ = answer.stamp;
  Seen seen;
  if (answer.whole_ago) seen.whole = answer.sent - *answer.whole_ago;
  if (answer.heard_ago) seen.heard = answer.sent - *answer.heard_ago;
  return seen;
}

}  // namespace hpc::worker
