#include "client/cli/find_run.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/input/options.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr int64_t kNewest = 1000;

bool IsNumber(const std::string& typed) {
  return !typed.empty() && std::all_of(typed.begin(), typed.end(), absl::ascii_isdigit);
}

// The newest run that `wanted` says yes to; 0: none among the newest thousand.
absl::StatusOr<int64_t> Newest(Client* client, const std::function<bool(const v1::Run&)>& wanted) {
  v1::ListRunsRequest request;
  request.set_limit(kNewest);
  request.set_without_command(true);
  int64_t found = 0;
  HPC_RETURN_IF_ERROR(client->ListRuns(request, [&](const v1::ListRunsResponse& response) {
    for (const v1::Run& run : response.runs()) {
      if (wanted(run)) found = std::max(found, run.id());
    }
  }));
  return found;
}

absl::StatusOr<int64_t> Last(Client* client) {
  HPC_ASSIGN_OR_RETURN(const v1::WhoAmIResponse me, client->WhoAmI());
  const auto is_mine = [&](const v1::Run& run) { return run.user() == me.name(); };
  HPC_ASSIGN_OR_RETURN(const int64_t run, Newest(client, is_mine));
  if (run != 0) return run;
  return absl::NotFoundError("none of the newest runs is yours: 'hpcctl runs' lists them");
}

}  // namespace

absl::StatusOr<int64_t> FindRun(Client* client, const std::string& typed) {
  if (IsNumber(typed)) {
    return ReadInteger("RUN", typed, 1, std::numeric_limits<int64_t>::max());
  }
  if (typed == "last") return Last(client);
  const auto has_name = [&](const v1::Run& run) { return run.name() == typed; };
  HPC_ASSIGN_OR_RETURN(const int64_t run, Newest(client, has_name));
  if (run != 0) return run;
  return absl::NotFoundError(absl::StrCat("no run has the name or number '", ToValidUtf8(typed),
                                          "': 'hpcctl runs' lists them"));
}

absl::StatusOr<std::vector<int64_t>> FindRuns(Client* client,
                                              const std::vector<std::string>& typed) {
  std::vector<int64_t> runs;
  for (const std::string& one : typed) {
    HPC_ASSIGN_OR_RETURN(runs.emplace_back(), FindRun(client, one));
  }
  return runs;
}

}  // namespace hpc::client
