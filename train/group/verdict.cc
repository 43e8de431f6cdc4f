#include "train/group/verdict.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/text.h"

namespace hpc::train {
namespace {

using Kind = RankAnswer::Kind;

// The faults from the gravest to the lightest. kNone means that the rank takes part as it should.
enum class Fault { kAway, kSilent, kElsewhere, kBehind, kNone };

Fault FaultOf(const Failure& failure, const RankAnswer& answer) {
  if (answer.kind == Kind::kGone || answer.kind == Kind::kUnreachable) return Fault::kAway;
  if (answer.kind == Kind::kSilent) return Fault::kSilent;
  const Collective& theirs = answer.status.entered;
  const bool as_far = theirs.number == failure.collective.number && theirs.number != 0;
  if (as_far && theirs.what != failure.collective.what) {
    return Fault::kElsewhere;
  }
  if (failure.timed_out && theirs.number < failure.collective.number) return Fault::kBehind;
  return Fault::kNone;
}

std::string Behind(const RankStatus& status) {
  if (status.entered.number == 0) return "it has not entered any collective yet";
  return absl::StrCat("the last that it entered is ", status.entered.ToString(), ", ",
                      HumanDuration(absl::Milliseconds(status.ago.count())), " ago");
}

std::string Describe(Fault fault, const Failure& failure, const RankAnswer& answer) {
  const std::string never = absl::StrCat("rank ", answer.number.value_or(answer.rank),
                                         " never completed ", failure.collective.ToString(), ": ");
  switch (fault) {
    case Fault::kAway:
      if (answer.kind == Kind::kGone) {
        return absl::StrCat(never, "its process is gone (nothing listens at ", answer.endpoint,
                            ")");
      }
      return absl::StrCat(never, "it cannot be reached at ", answer.endpoint,
                          ": its PC is off or the network is cut");
    case Fault::kSilent:
      return absl::StrCat(never, "it does not answer at ", answer.endpoint,
                          ": its process is stopped or its PC hangs");
    case Fault::kElsewhere:
      return absl::StrCat("rank ", answer.number.value_or(answer.rank), " never entered ",
                          failure.collective.ToString(), ": it entered ",
                          answer.status.entered.what, " in its place; all ranks must do the same");
    case Fault::kBehind:
      return absl::StrCat("rank ", answer.number.value_or(answer.rank), " never reached ",
                          failure.collective.ToString(), ": ", Behind(answer.status));
    case Fault::kNone:
      break;
  }
  return "";
}

}  // namespace

std::string Collective::ToString() const {
  return number == 0 ? what : absl::StrCat("collective ", number, ", ", what);
}

Verdict Judge(const Failure& failure, const std::vector<RankAnswer>& answers) {
  Fault gravest = Fault::kNone;
  for (const RankAnswer& answer : answers) {
    if (answer.kind == Kind::kAnswered && answer.status.verdict) return *answer.status.verdict;
    gravest = std::min(gravest, FaultOf(failure, answer));
  }
  if (gravest == Fault::kNone) {
    return {.reason = absl::StrCat(
                "no rank is missing from ", failure.collective.ToString(), ": all are alive, ",
                failure.timed_out ? "so the network is too slow for the deadline"
                                  : "so a connection between two of them broke",
                failure.timed_out || failure.seen.empty() ? ""
                                                          : absl::StrCat(" (", failure.seen, ")"))};
  }
  Verdict verdict;
  std::vector<std::string> reasons;
  for (const RankAnswer& answer : answers) {
    if (FaultOf(failure, answer) != gravest) continue;
    verdict.missing.push_back(answer.rank);
    reasons.push_back(Describe(gravest, failure, answer));
  }
  verdict.reason = absl::StrJoin(reasons, "; ");
  return verdict;
}

}  // namespace hpc::train
