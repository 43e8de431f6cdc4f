#include "coordinator/core/state/causes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace hpc::coordinator {

void Causes::Learn(const Cause& cause) {
  for (Cause& known : heard_) {
    if (known == cause) return;
    if (known.node != cause.node) continue;
    if (known.text == cause.text) return;  // told again, and perhaps less exactly
    if (!known.guessed) continue;
    known = cause;
    return;
  }
  heard_.push_back(cause);
}

void Causes::LearnSince(const Cause& cause) {
  const auto known = std::find_if(heard_.begin(), heard_.end(), [&](const Cause& one) {
    return one.node == cause.node && one.text == cause.text;
  });
  if (known == heard_.end()) return Learn(cause);
  *known = cause;
}

void Causes::AddOnce(Cause cause) {
  const bool known = std::any_of(heard_.begin(), heard_.end(), [&](const Cause& one) {
    return one.node == cause.node && one.text == cause.text;
  });
  if (!known) Add(std::move(cause));
}

void Causes::DateEnd(const std::string& node, int32_t rank,
                     const std::optional<NodeWindow>& failed) {
  for (Cause& cause : heard_) {
    if (cause.there || cause.node != node || cause.rank != rank) continue;
    cause.there = failed;
  }
}

void Causes::DateHalt(const Cause& halt) {
  for (Cause& cause : heard_) {
    if (!cause.there && cause.node == halt.node && cause.text == halt.text)
      cause.there = halt.there;
  }
}

void Causes::Withdraw(const std::string& node) {
  const auto wish = std::find_if(heard_.begin(), heard_.end(), [&](const Cause& cause) {
    return cause.guessed && cause.outcome == AttemptOutcome::kReclaimed && cause.node == node;
  });
  if (wish != heard_.end() && heard_.size() > 1) heard_.erase(wish);
}

void Causes::Narrow(const NodeTable& nodes, MonoTime now) {
  for (Cause& cause : heard_) {
    if (!cause.there) continue;
    const Node* const node = nodes.Find(cause.node);
    if (node != nullptr) cause.when = node->clock.Narrow(cause.when, *cause.there, now);
  }
}

std::vector<Cause> Causes::UpToLastOther() const {
  const auto end = std::find_if(heard_.rbegin(), heard_.rend(),
                                [](const Cause& cause) { return !IsFailure(cause); });
  return {heard_.begin(), end.base()};
}

std::string Causes::Reason() const {
  const Cause& deciding = Deciding();
  if (deciding.kind == CauseKind::kOfPeer && !spoken_of_.empty()) return spoken_of_;
  std::vector<Cause> before(heard_.data(), &deciding);
  before.erase(std::remove_if(before.begin(), before.end(),
                              [](const Cause& cause) { return !IsFailure(cause); }),
               before.end());
  if (IsFailure(deciding) || before.empty()) return deciding.text;
  const Cause& failure = coordinator::Deciding(before);
  const bool in_order =
      failure.kind == CauseKind::kOfPeer || deciding.when.latest <= failure.when.latest;
  return absl::StrCat(deciding.text, in_order ? ", and then " : ", and at about the same time ",
                      failure.text);
}

bool Causes::AllComplainOfPeers() const {
  return !heard_.empty() && std::all_of(heard_.begin(), heard_.end(), [](const Cause& cause) {
    return cause.kind == CauseKind::kOfPeer;
  });
}

bool Causes::AwaitsWord(const NodeTable& nodes, Now now) const {
  if (heard_.empty() || !Deciding().may_answer_sigterm) return false;
  const Node* const node = nodes.Find(Deciding().node);
  if (node == nullptr) return false;
  // A worker that stood still tells of the end before it hears that it is told to end as well.
  const MonoTime since = std::max(Deciding().when.latest, Deciding().told) + kWordOfPeer;
  if (node->HeardSince(since, now)) return false;
  return node->connected() || node->Awaited();
}

bool Causes::AwaitsClocks(const NodeTable& nodes) const {
  const auto fails = [](const Cause& cause) { return IsFailure(cause); };
  if (heard_.size() < 2 || std::none_of(heard_.begin(), heard_.end(), fails)) return false;
  return std::any_of(heard_.begin(), heard_.end(), [&](const Cause& cause) {
    const Node* const node = cause.there ? nodes.Find(cause.node) : nullptr;
    return node != nullptr && node->connected() && !node->clock.bounded();
  });
}

}  // namespace hpc::coordinator
