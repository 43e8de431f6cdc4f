#include "coordinator/core/policy/growth.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/text.h"

namespace hpc::coordinator {
namespace {

constexpr absl::Duration kLongest = absl::Hours(1);

std::string Names(const std::vector<NewNode>& nodes) {
  std::vector<std::string> names;
  for (const NewNode& node : nodes) names.push_back(node.name);
  return JoinWords(names);
}

// The node that will be steady last. If that is the gang itself, the name is "".
NewNode Last(const GrowthInput& input) {
  NewNode last{"", input.gang_steady_at, 0};
  for (const NewNode& node : input.fresh) {
    if (node.steady_at > last.steady_at) last = node;
  }
  return last;
}

std::string WaitsFor(const GrowthInput& input, const NewNode& last) {
  const std::string steady = HumanDuration(SteadyTime(input.grow_steady, last.departures));
  if (last.name.empty()) return absl::StrCat("once it has run for ", steady);
  const std::string stays = absl::StrCat("if ", last.name, " stays");
  if (last.departures <= 1) {
    return absl::StrCat(stays, ": it must have been there and free for ", steady);
  }
  return absl::StrCat(stays, ": it was lost or reclaimed ", last.departures,
                      " times without an hour's rest between, so it must stay for ", steady);
}

}  // namespace

absl::Duration SteadyTime(absl::Duration grow_steady, int32_t departures) {
  const int32_t doublings = std::clamp(departures - 1, 0, 20);
  return std::max(grow_steady, std::min(grow_steady * (int64_t{1} << doublings), kLongest));
}

std::string GrowthWords(const std::string& words, MonoTime again, MonoTime now) {
  if (words.empty() || again == MonoTime::Infinite()) return words;
  return absl::StrCat(words, " (", HumanDuration(again - now), " from now)");
}

GrowthDecision DecideGrowth(const GrowthInput& input) {
  GrowthDecision decision;
  if (input.fresh.empty()) return decision;
  const int64_t larger = input.nodes + static_cast<int64_t>(input.fresh.size());
  const std::string how = absl::StrCat("from ", input.nodes, " to ", Count(larger, "node"),
                                       " with ", Names(input.fresh));
  if (input.mode == GrowMode::kNever) {
    decision.words = absl::StrCat("would grow ", how,
                                  " if it were started again, and is not for that: --grow never");
    return decision;
  }
  if (input.waiting != 0) {
    decision.words =
        absl::StrCat("could grow ", how, ", but run ", input.waiting, " waits for devices");
    return decision;
  }
  const NewNode last = Last(input);
  if (input.now < last.steady_at) {
    decision.again = last.steady_at;
    decision.words = absl::StrCat("may grow ", how, ", ", WaitsFor(input, last));
    return decision;
  }
  if (input.mode == GrowMode::kCheckpoint && !input.at_checkpoint) {
    decision.words = absl::StrCat("grows ", how, " at the next checkpoint that it tells of");
    return decision;
  }
  decision.grow = true;
  decision.words = absl::StrCat("grows ", how, input.at_checkpoint ? ", at a checkpoint" : "");
  return decision;
}

}  // namespace hpc::coordinator
