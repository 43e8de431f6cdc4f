#include "coordinator/core/gangs/finished_ranks.h"

#include <algorithm>
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

// "3 s before", "200 ms after".
std::string HowLong(absl::Duration before) {
  before = absl::Trunc(before, absl::Milliseconds(1));
  if (before == absl::ZeroDuration()) return "at the same time";
  return absl::StrCat(HumanDuration(absl::AbsDuration(before)),
                      before > absl::ZeroDuration() ? " before" : " after");
}

// Some programs abort on their way out, because threads of a library are still alive when the
// interpreter ends. If other ranks have finished, an abort looks like that.
std::string OnItsWayOut(const Attempt& attempt, absl::Time failed) {
  const size_t finished = FinishedBy(failed, attempt).size();
  if (finished == 0) return "";
  return absl::StrCat(" (when ", finished, " of ", Count(attempt.record.world_size, "rank"),
                      " had exited 0: perhaps on its way out, with its work done)");
}

std::string WithoutItsPeers(const Attempt& attempt, absl::Time failed) {
  const auto finished = FinishedBy(failed + kWordOfPeer, attempt);
  if (finished.empty()) return "";
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, finished.size()); ++i) {
    const RankRecord& rank = *finished[i];
    absl::StrAppend(&text, i == 0 ? " (" : "; ", "rank ", rank.rank, " on ", rank.node,
                    i == 0 ? " exited with code 0, " : ", ", HowLong(failed - rank.ended_at));
  }
  if (finished.size() > kNamed) absl::StrAppend(&text, "; and ", finished.size() - kNamed, " more");
  return absl::StrCat(text, ")");
}

}  // namespace

std::string WhoHadFinished(const Attempt& attempt, const Cause& failure) {
  constexpr int32_t kAborted = 128 + 6;  // SIGABRT
  if (failure.rank < 0 || !IsFailure(failure)) return "";
  const absl::Time failed = attempt.ranks[static_cast<size_t>(failure.rank)].ended_at;
  if (failure.kind == CauseKind::kOfPeer) return WithoutItsPeers(attempt, failed);
  return failure.exit_code == kAborted ? OnItsWayOut(attempt, failed) : "";
}

}  // namespace hpc::coordinator
