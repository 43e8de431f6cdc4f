#include "client/cli/find_run.h"

#include <algorithm>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/input/options.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

bool IsNumber(const std::string& typed) {
  return !typed.empty() && std::all_of(typed.begin(), typed.end(), absl::ascii_isdigit);
}

// The newest run of a listing; 0: it is empty.
absl::StatusOr<int64_t> Newest(Client* client, v1::ListRunsRequest request) {
  request.set_limit(1);
  request.set_without_command(true);
  int64_t found = 0;
  HPC_RETURN_IF_ERROR(client->ListRuns(request, [&](const v1::ListRunsResponse& response) {
    for (const v1::Run& run : response.runs()) found = std::max(found, run.id());
  }));
  return found;
}

absl::StatusOr<int64_t> Last(Client* client) {
  HPC_ASSIGN_OR_RETURN(const v1::WhoAmIResponse me, client->WhoAmI());
  v1::ListRunsRequest request;
  request.set_user(me.name());
  HPC_ASSIGN_OR_RETURN(const int64_t run, Newest(client, request));
  if (run != 0) return run;
  return absl::NotFoundError("none of the runs is yours: 'hpcctl runs' lists them");
}

}  // namespace

absl::StatusOr<int64_t> FindRun(Client* client, const std::string& typed) {
  if (IsNumber(typed)) {
    return ReadInteger("RUN", typed, 1, std::numeric_limits<int64_t>::max());
  }
  if (typed == "last") return Last(client);
  v1::ListRunsRequest request;
  request.set_name(ToValidUtf8(typed));
  HPC_ASSIGN_OR_RETURN(const int64_t run, Newest(client, request));
  if (run != 0) return run;
  const std::vector<std::string> attempt = absl::StrSplit(typed, '.');
  const bool is_attempt = attempt.size() == 2 && IsNumber(attempt[0]) && IsNumber(attempt[1]);
  return absl::NotFoundError(absl::StrCat(
      "no run has the name or number '", ToValidUtf8(typed), "': ",
      is_attempt ? absl::StrCat("attempt ", attempt[1], " is of run ", attempt[0], "; name that")
                 : "'hpcctl runs' lists them"));
}

absl::StatusOr<std::vector<int64_t>> FindRuns(Client* client,
                                              const std::vector<std::string>& typed) {
  std::vector<int64_t> runs;
  for (const std::string& one : typed) {
    HPC_ASSIGN_OR_RETURN(runs.emplace_back(), FindRun(client, one));
  }
  return runs;
}

v1::ListRunsRequest LiveRunsRequest() {
  v1::ListRunsRequest request;
  for (const v1::RunState state : {v1::RUN_STATE_QUEUED, v1::RUN_STATE_STARTING,
                                   v1::RUN_STATE_RUNNING, v1::RUN_STATE_STOPPING}) {
    request.add_states(state);
  }
  request.set_without_command(true);
  return request;
}

absl::StatusOr<std::vector<int64_t>> LiveRunsOfCaller(Client* client) {
  HPC_ASSIGN_OR_RETURN(const v1::WhoAmIResponse me, client->WhoAmI());
  v1::ListRunsRequest request = LiveRunsRequest();
  request.set_user(me.name());
  std::vector<int64_t> runs;
  HPC_RETURN_IF_ERROR(client->ListRuns(request, [&](const v1::ListRunsResponse& response) {
    for (const v1::Run& run : response.runs()) runs.push_back(run.id());
  }));
  return runs;
}

}  // namespace hpc::client
