#include "coordinator/core/gangs/finished_ranks.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/text.h"
#include "coordinator/core/values/exit_words.h"

namespace hpc::coordinator {
namespace {

constexpr size_t kNamed = 3;

// Those that exited 0 by the given time, in the order in which they did.
std::vector<const RankRecord*> FinishedBy(absl::Time until, const Attempt& attempt) {
  std::vector<const RankRecord*> finished;
  for (const RankRecord& rank : attempt.ranks) {
    const bool done = rank.exit.has_value() && SucceededByItself(*rank.exit);
    if (done && rank.ended_at <= until) finished.push_back(&rank);
  }
  std::stable_sort(finished.begin(), finished.end(), [](const RankRecord* a, const RankRecord* b) {
    return a->ended_at < b->ended_at;
  });
  return finished;
}

// Some programs abort on their way out, because threads of a library are still alive when the
// interpreter ends. If other ranks have finished, an abort looks like that.
std::string OnItsWayOut(const Attempt& attempt, absl::Time failed) {
  const size_t finished = FinishedBy(failed, attempt).size();
  if (finished == 0) return "";
  return absl::StrCat(" (when ", finished, " of ", Count(attempt.record.world_size, "rank"),
                      " had exited 0: perhaps on its way out, with its work done)");
}

// "rank 2 on pc3 exited with code 0, and 3 s later ".
std::string AfterItsPeers(const Attempt& attempt, absl::Time failed) {
  const auto finished = FinishedBy(failed + kWordOfPeer, attempt);
  if (finished.empty()) return "";
  std::vector<std::string> names;
  for (const RankRecord* rank : finished) {
    names.push_back(absl::StrCat("rank ", rank->rank, " on ", rank->node));
  }
  const absl::Duration later =
      absl::Trunc(failed - finished.front()->ended_at, absl::Milliseconds(1));
  const std::string when = later > absl::ZeroDuration()
                               ? absl::StrCat(HumanDuration(later), " later ")
                               : "at about the same time ";
  return absl::StrCat(JoinSome(std::move(names), kNamed), " exited with code 0, and ", when);
}

}  // namespace

std::string WithWhoHadFinished(const Attempt& attempt, const Cause& failure,
                               const std::string& reason) {
  constexpr int32_t kAborted = 128 + 6;  // SIGABRT
  if (failure.rank < 0 || !IsFailure(failure)) return reason;
  const absl::Time failed = attempt.ranks[static_cast<size_t>(failure.rank)].ended_at;
  if (failure.kind == CauseKind::kOfPeer) return AfterItsPeers(attempt, failed) + reason;
  return failure.exit_code == kAborted ? reason + OnItsWayOut(attempt, failed) : reason;
}

}  // namespace hpc::coordinator
