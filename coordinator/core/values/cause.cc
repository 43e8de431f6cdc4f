#include "coordinator/core/values/cause.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/signal_name.h"
#include "common/telling_line.h"
#include "coordinator/core/values/exit_words.h"
#include "protocol/sigterm_answer.h"

namespace hpc::coordinator {
namespace {

// Words with which gloo, NCCL, the TCPStore, JAX's coordination service and plain sockets complain
// about a peer that is gone or does not answer.
constexpr std::array kWordsOfPeers = {
    "by peer",    "peer ",       "connection",  "broken pipe",     "socket",
    "nccl",       "gloo",        "remote",      "unreachable",     "timed out",
    "timeout",    "heartbeat",   "rendezvous",  "tcpstore",        "barrier",
    "collective", "watchdog",    "end of file", "network is down", "disconnect",
    "no route",   "unavailable", "other rank",  "eoferror"};

constexpr int32_t kTerminatedCode = 128 + 15;  // SIGTERM
// SIGILL, SIGBUS, SIGFPE and SIGSEGV, as a shell shows them.
constexpr std::array kCrashCodes = {128 + 4, 128 + 7, 128 + 8, 128 + 11};

bool SpeaksOfPeer(absl::string_view line) {
  const std::string words = absl::AsciiStrToLower(line);
  return std::any_of(kWordsOfPeers.begin(), kWordsOfPeers.end(),
                     [&](const char* word) { return absl::StrContains(words, word); });
}

// What is known of a SIGKILL that nobody here has sent.
std::string WhoKills(const std::string& node) {
  return absl::StrCat(" (hpcctl did not send it; the kernel does when memory runs out, which ",
                      "'journalctl -k' or 'dmesg' on ", node, " shows)");
}

int Standing(const Cause& failure) {
  if (failure.kind == CauseKind::kAsked) return 0;
  return failure.kind == CauseKind::kOfPeer ? 2 : 1;
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
  const bool crash =
      std::find(kCrashCodes.begin(), kCrashCodes.end(), first.exit_code) != kCrashCodes.end();
  const bool silent = first.kind == CauseKind::kSilent && !crash;
  const bool waits_for_word =
      first.kind == CauseKind::kOfPeer || (silent && other.kind == CauseKind::kAsked);
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

Moment FailedAt(const protocol::RankExit& exit, const Moment& reaped) {
  const absl::Duration words = exit.words_before_end;
  Moment failed = reaped;
  failed.when = {reaped.when.earliest - words - kTeardown, reaped.when.latest - words};
  if (!failed.there) return failed;
  failed.there->earliest -= words + kTeardown;
  failed.there->latest -= words;
  return failed;
}

CauseKind KindOfFailure(const protocol::RankExit& exit, const std::vector<int32_t>& retry_exits) {
  const bool asked =
      std::find(retry_exits.begin(), retry_exits.end(), ShellCode(exit)) != retry_exits.end();
  if (asked) return CauseKind::kAsked;
  if (exit.signal.has_value() && SignalName(*exit.signal) == "SIGKILL") return CauseKind::kKilled;
  if (ShellCode(exit) == kTerminatedCode) return CauseKind::kTerminated;
  const absl::string_view line = TellingLine(exit.message);
  if (line.empty()) return CauseKind::kSilent;
  return SpeaksOfPeer(line) ? CauseKind::kOfPeer : CauseKind::kOwn;
}

Cause FailureOf(const RankRecord& rank, const Moment& reaped,
                const std::vector<int32_t>& retry_exits) {
  Cause cause;
  cause.kind = KindOfFailure(*rank.exit, retry_exits);
  cause.outcome = AttemptOutcome::kProgramFailed;
  const Moment failed = FailedAt(*rank.exit, reaped);
  cause.when = failed.when;
  cause.there = failed.there;
  cause.node = rank.node;
  cause.text = absl::StrCat("rank ", rank.rank, " on ", rank.node, " ", ExitWords(*rank.exit));
  if (cause.kind == CauseKind::kKilled) cause.text += WhoKills(rank.node);
  if (cause.kind == CauseKind::kTerminated) cause.text += " (hpcctl did not send it)";
  cause.exit_code = ShellCode(*rank.exit);
  cause.rank = rank.rank;
  cause.may_answer_sigterm =
      cause.kind != CauseKind::kAsked && protocol::MayAnswerSigterm(*rank.exit);
  return cause;
}

std::string SpokenOf(const RankRecord& rank) {
  const protocol::RankExit& exit = *rank.exit;
  if (!exit.after_stop || !exit.signal || exit.traceback.empty()) return "";
  const absl::string_view line = TellingLine(exit.message);
  if (line.empty() || SpeaksOfPeer(line)) return "";
  return absl::StrCat("rank ", rank.rank, " on ", rank.node, " failed: ", line);
}

Cause ClusterCause(AttemptOutcome outcome, const std::string& node, const Window& when,
                   const std::string& text) {
  return {CauseKind::kCluster, outcome, when, node, text};
}

Cause OrderedCause(AttemptOutcome outcome, MonoTime now, const std::string& text) {
  return {CauseKind::kOrdered, outcome, Window::Exactly(now), "", text};
}

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
