#include "client/cli/show/overview.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "client/cli/show/words.h"
#include "client/run_state.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr size_t kRunsShown = 15;

// Runs that are under way first, then the queue in its order, then what waits for something else.
auto Order(const v1::Run& run) {
  const bool queued = run.state() == v1::RUN_STATE_QUEUED;
  const int position =
      run.queue_position() > 0 ? run.queue_position() : std::numeric_limits<int>::max();
  return std::tuple(queued, queued ? position : 0, run.id());
}

std::string NodeTable(const std::vector<v1::Node>& nodes, const ListingForm& form) {
  Listing listing({{"name", "NODE"},
                   {"state", "STATE"},
                   {"", "FREE"},
                   {"attempts", "RUNS"},
                   {"reason", "REASON"}},
                  form);
  for (const v1::Node& node : nodes) {
    listing.Text(node.name())
        .Text(node.state(), ColourOfNode(node.state()))
        .TableOnly(absl::StrCat(node.free_devices_size(), "/", node.inventory().devices_size()))
        .Items(node.attempts())
        .Text(node.reason())
        .EndRow();
  }
  return listing.empty() ? "" : "\n" + listing.Finish();
}

}  // namespace

std::string Overview(const std::vector<v1::Node>& nodes, std::vector<v1::Run> runs,
                     const ListingForm& form) {
  std::string out = NodeTable(nodes, form);
  if (runs.empty()) return out;
  std::sort(runs.begin(), runs.end(),
            [](const v1::Run& a, const v1::Run& b) { return Order(a) < Order(b); });
  Listing listing({{"id", "RUN"},
                   {"state", "STATE"},
                   {"name", "NAME"},
                   {"user", "USER"},
                   {"nodes", "NODES"},
                   {"took_us", "TOOK"},
                   {"reason", "REASON"}},
                  form);
  for (size_t i = 0; i < std::min(runs.size(), kRunsShown); ++i) {
    const v1::Run& run = runs[i];
    listing.Integer(run.id())
        .Text(Word(run.state()), ColourOf(run.state()))
        .Text(run.name())
        .Text(run.user())
        .Items(run.state() == v1::RUN_STATE_QUEUED ? v1::Run::default_instance().nodes()
                                                   : run.nodes())
        .Span(HasRunTime(run.state()) ? run.started_at_us() : 0, run.ended_at_us())
        .Text(run.reason())
        .EndRow();
  }
  absl::StrAppend(&out, "\n", listing.Finish());
  if (runs.size() > kRunsShown) {
    absl::StrAppend(&out, "and ", runs.size() - kRunsShown,
                    " more: hpcctl runs --state queued,starting,running,stopping\n");
  }
  return out;
}

}  // namespace hpc::client
