#include "coordinator/core/policy/run_change.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/text.h"

namespace hpc::coordinator {
namespace {

// The value of each option that a change may name, as it is typed.
std::vector<std::pair<const char*, std::string>> OptionsOf(const RunRequest& request) {
  const auto names = [](const std::vector<std::string>& nodes, const char* none) {
    return nodes.empty() ? std::string(none) : absl::StrJoin(nodes, ",");
  };
  const bool range = request.min_nodes != request.max_nodes;
  const bool limited = request.time_limit != absl::InfiniteDuration();
  return {
      {"--priority", absl::StrCat(request.priority)},
      {"-N", range ? absl::StrCat(request.min_nodes, ":", request.max_nodes)
                   : absl::StrCat(request.min_nodes)},
      {"--nodelist", names(request.node_list, "any node")},
      {"--exclude", names(request.exclude, "no node")},
      {"--time-limit", limited ? absl::FormatDuration(request.time_limit) : "none"},
      {"--max-restarts", absl::StrCat(request.max_restarts)},
  };
}

}  // namespace

RunRequest Changed(RunRequest request, const RunChange& change) {
  if (change.priority) request.priority = *change.priority;
  if (change.min_nodes) request.min_nodes = *change.min_nodes;
  if (change.max_nodes) request.max_nodes = *change.max_nodes;
  if (change.max_restarts) request.max_restarts = *change.max_restarts;
  if (change.time_limit) request.time_limit = *change.time_limit;
  if (change.node_list) request.node_list = *change.node_list;
  if (change.exclude) request.exclude = *change.exclude;
  return request;
}

bool ChangesNodes(const RunRequest& before, const RunRequest& after) {
  return before.min_nodes != after.min_nodes || before.max_nodes != after.max_nodes ||
         before.node_list != after.node_list || before.exclude != after.exclude;
}

std::string HeldBy(const std::string& who) { return DoneBy("held", who); }

bool IsHeldBy(const RunRecord& run, const std::string& who) { return run.on_hold == HeldBy(who); }

std::string ChangeWords(const RunRequest& before, const RunRequest& after) {
  const auto was = OptionsOf(before), is = OptionsOf(after);
  std::vector<std::string> words;
  for (size_t i = 0; i < is.size(); ++i) {
    if (was[i].second == is[i].second) continue;
    words.push_back(absl::StrCat(is[i].first, " ", was[i].second, " -> ", is[i].second));
  }
  return absl::StrJoin(words, ", ");
}

}  // namespace hpc::coordinator
