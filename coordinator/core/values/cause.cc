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

}  // namespace

Moment FailedAt(const protocol::RankExit& exit, const Moment& reaped) {
  const absl::Duration words = exit.words_before_end;
  Moment failed = reaped;
  failed.when.earliest = failed.when.earliest - (words + kTeardown);
  if (failed.there) failed.there->earliest -= words + kTeardown;
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

}  // namespace hpc::coordinator
