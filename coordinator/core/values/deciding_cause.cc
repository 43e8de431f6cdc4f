#include "coordinator/core/values/deciding_cause.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hpc::coordinator {
namespace {

// SIGILL, SIGBUS, SIGFPE and SIGSEGV, as a shell shows them.
constexpr std::array kCrashCodes = {128 + 4, 128 + 7, 128 + 8, 128 + 11};

bool IsCrash(const Cause& failure) {
  return std::find(kCrashCodes.begin(), kCrashCodes.end(), failure.exit_code) != kCrashCodes.end();
}

// Whether it may as well have ended for want of a peer.
bool IsSilent(const Cause& failure) {
  return failure.kind == CauseKind::kSilent && !IsCrash(failure);
}

// If failures cannot be put in order, the one with the smallest number comes first.
int Standing(const Cause& failure) {
  if (failure.kind == CauseKind::kAsked) return 0;
  if (failure.kind == CauseKind::kOfPeer) return 3;
  return IsSilent(failure) ? 2 : 1;
}

// Whether `failure` may come of `other`, with which a rank on another node answered SIGTERM. Such a
// rank may close its connections before it ends, and its peers fail then. Of two that may have
// answered, only one that SIGTERM surely ended comes before one that said nothing.
bool MayComeOfAnswer(const Cause& failure, const Cause& other) {
  if (failure.kind == CauseKind::kKilled || failure.node == other.node) return false;
  const bool surely = other.kind == CauseKind::kTerminated;
  const bool answers = other.may_answer_sigterm && (surely || other.kind == CauseKind::kSilent);
  const bool follows =
      !failure.may_answer_sigterm || (surely && failure.kind == CauseKind::kSilent);
  return answers && follows && other.when.earliest <= failure.when.latest;
}

// Whether `first`, which was reported as the earlier one, may be a consequence of `other`.
bool MayFollow(const Cause& first, const Cause& other) {
  if (MayComeOfAnswer(first, other)) return true;
  if (Standing(other) >= Standing(first)) return false;
  const bool waits_for_word =
      first.kind == CauseKind::kOfPeer || (IsSilent(first) && other.kind == CauseKind::kAsked);
  const absl::Duration patience = waits_for_word ? kWordOfPeer : absl::ZeroDuration();
  return other.when.earliest <= first.when.latest + patience;
}

// The failure of which `failure` is most likely a consequence; null: none.
const Cause* WhatItFollows(const Cause& failure, const std::vector<Cause>& causes) {
  const Cause* before = nullptr;
  for (const Cause& cause : causes) {
    if (!IsFailure(cause) || !MayFollow(failure, cause)) continue;
    const auto rank = [](const Cause& c) { return std::pair(Standing(c), c.when.latest); };
    if (before == nullptr || rank(cause) < rank(*before)) before = &cause;
  }
  return before;
}

const Cause* FirstFailure(const std::vector<Cause>& causes) {
  const Cause* first = nullptr;
  for (const Cause& cause : causes) {
    if (!IsFailure(cause)) continue;
    if (first == nullptr || cause.when.latest < first->when.latest) first = &cause;
  }
  if (first == nullptr) return nullptr;
  const Cause* const before = WhatItFollows(*first, causes);
  if (before == nullptr) return first;
  // That may have ended for want of one that SIGTERM ended, too.
  const Cause* const answer = WhatItFollows(*before, causes);
  const bool answered = answer != nullptr && answer->kind == CauseKind::kTerminated;
  return answered && before->kind == CauseKind::kSilent ? answer : before;
}

// Whether `other`, which explains complaints, explains this failure: a complaint, or anything but a
// SIGKILL that happened on its own node while it lasted.
bool IsExplainedBy(const Cause& failure, const Cause& other) {
  if (failure.kind == CauseKind::kOfPeer) return true;
  return failure.kind != CauseKind::kKilled && failure.node == other.node &&
         !other.when.SurelyBefore(failure.when);
}

// When the failure happened, as far as the others tell. Those that may follow from it, such as a
// complaint about a peer, have ended by then or a moment earlier. This matters where its own node
// tells of it late, and cannot say when it was.
Window WhenOf(const Cause& failure, const std::vector<Cause>& causes) {
  Window when = failure.when;
  for (const Cause& cause : causes) {
    if (&cause == &failure || !IsFailure(cause) || !MayFollow(cause, failure)) continue;
    when.latest = std::min(when.latest, cause.when.latest + kWordOfPeer);
  }
  return when;
}

// Whether `failure`, which happened at `when`, decides although `other` is known. Both are among
// the causes of one attempt, in the order in which they were heard.
bool ComesBefore(const Cause& failure, const Window& when, const Cause& other) {
  if (other.of_complaints && !IsExplainedBy(failure, other)) return true;
  if (failure.may_answer_sigterm && other.kind == CauseKind::kCluster &&
      other.node == failure.node && other.when.earliest <= failure.when.latest + kWordOfPeer) {
    return false;
  }
  if (when.SurelyBefore(other.when)) return true;
  // The coordinator gave this order when it had already heard of the failure.
  if (other.kind == CauseKind::kOrdered && &failure < &other) return true;
  return failure.kind == CauseKind::kKilled && failure.when.latest < other.when.latest;
}

}  // namespace

const Cause& Deciding(const std::vector<Cause>& causes) {
  const Cause* const failure = FirstFailure(causes);
  const Window when = failure == nullptr ? Window() : WhenOf(*failure, causes);
  const Cause* other = nullptr;
  for (const Cause& cause : causes) {
    if (IsFailure(cause)) continue;
    // What came after the failure explains nothing of it.
    if (failure != nullptr && ComesBefore(*failure, when, cause)) continue;
    if (other == nullptr || cause.when.latest < other->when.latest) other = &cause;
  }
  return other == nullptr ? *failure : *other;
}

bool MayBeConsequences(const std::vector<Cause>& causes, bool may_ask) {
  return std::all_of(causes.begin(), causes.end(), [may_ask](const Cause& cause) {
    return cause.of_complaints || cause.kind == CauseKind::kOfPeer ||
           cause.kind == CauseKind::kTerminated || (may_ask && cause.kind == CauseKind::kSilent);
  });
}

}  // namespace hpc::coordinator
