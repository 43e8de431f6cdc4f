#include "coordinator/core/gangs/possible_answers.h"

#include "coordinator/core/values/exit_words.h"
#include "protocol/sigterm_answer.h"

namespace hpc::coordinator {
namespace {

bool MayBeAnswer(const protocol::RankExit& exit) {
  return protocol::MayAnswerSigterm(exit) || (exit.catches_sigterm && SucceededByItself(exit));
}

// `failure` brought our own SIGTERM, which a rank that catches SIGTERM mostly answers. But the rank
// may have been on its way out, where Python spends a while, and have closed its connections. Only
// where others failed without a word, nothing else tells why they did.
bool MayHaveBegunBefore(const protocol::RankExit& exit, const Cause& failure) {
  return exit.after_stop && exit.catches_sigterm && failure.kind == CauseKind::kSilent;
}

}  // namespace

std::vector<PossibleAnswer> PossibleAnswersBefore(const Attempt& attempt, const Cause& failure,
                                                  Now now) {
  std::vector<PossibleAnswer> ends;
  if (!IsFailure(failure)) return ends;
  for (const RankRecord& rank : attempt.ranks) {
    if (rank.rank == failure.rank || !rank.exit) continue;
    const bool began_before = MayHaveBegunBefore(*rank.exit, failure);
    if (!began_before && !MayBeAnswer(*rank.exit)) continue;
    const auto mono = [now](absl::Time at) { return now.mono - (now.wall - at); };
    const absl::Duration before_end = began_before ? protocol::kSigtermSpread : kTeardown;
    const Window ended{mono(rank.ended_from) - before_end, mono(rank.ended_at)};
    const bool before = ended.earliest <= failure.when.latest;
    const bool recent = failure.when.earliest <= ended.latest + protocol::kSigtermSpread;
    if (before && recent) ends.push_back({rank.node, ended});
  }
  return ends;
}

std::string NodeThatMayGoDown(const NodeTable& nodes, const Attempt& attempt, Now now) {
  if (attempt.causes.empty()) return "";
  for (const PossibleAnswer& end : PossibleAnswersBefore(attempt, attempt.causes.Deciding(), now)) {
    const Node* const node = nodes.Find(end.node);
    if (node == nullptr || node->HeardSince(end.when.latest + protocol::kSigtermSpread, now)) {
      continue;
    }
    if (node->connected() || node->Awaited()) return end.node;
  }
  return "";
}

}  // namespace hpc::coordinator
