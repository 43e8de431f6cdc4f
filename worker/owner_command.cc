#include "worker/owner_command.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/text.h"
#include "worker/owner/control_socket.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

std::string MakeRequest(const CommandLine& command) {
  json request;
  switch (command.command) {
    case CommandLine::Command::kReclaim:
      request = {{"command", "reclaim"}, {"reason", command.reason}};
      if (command.reclaim_for) {
        request["for_ms"] = absl::ToInt64Milliseconds(*command.reclaim_for);
      }
      if (command.grace) request["grace_ms"] = absl::ToInt64Milliseconds(*command.grace);
      break;
    case CommandLine::Command::kLend:
      request = {{"command", "lend"}};
      break;
    default:
      request = {{"command", "status"}};
  }
  return request.dump();
}

std::string Duration(const json& milliseconds) {
  return HumanDuration(absl::Milliseconds(milliseconds.get<int64_t>()));
}

std::string OwnerLine(const json& answer) {
  const std::string node = answer.at("node").get<std::string>();
  if (!answer.at("reclaimed").get<bool>()) return node + " is lent to the cluster\n";
  const std::string reason = OneLine(answer.at("reason").get<std::string>());
  std::string line = node + " is yours";
  if (answer.contains("left_ms")) {
    absl::StrAppend(&line, " for another ", Duration(answer.at("left_ms")));
  } else {
    absl::StrAppend(&line, " until you lend it (hpc-worker lend)");
  }
  if (!reason.empty()) absl::StrAppend(&line, ": ", reason);
  return line + "\n";
}

std::string Describe(const json& answer) {
  std::string out;
  if (answer.contains("took_ms")) {
    absl::StrAppend(&out, "free after ", Duration(answer.at("took_ms")), "\n");
  }
  absl::StrAppend(&out, OwnerLine(answer));
  if (!answer.value("saved", true)) {
    out += "not saved yet, the disk does not take it: a restart of the worker would forget this\n";
  }
  const std::string coordinator = answer.at("coordinator").get<std::string>();
  if (answer.at("connected").get<bool>()) {
    absl::StrAppend(&out, "connected to the coordinator at ", coordinator, "\n");
  } else {
    absl::StrAppend(&out, "not connected to the coordinator at ", coordinator, ": ",
                    OneLine(answer.at("problem").get<std::string>()), "\n");
  }
  for (const json& attempt : answer.at("attempts")) {
    absl::StrAppend(&out, "attempt ", attempt.at("attempt").get<std::string>(), " is ",
                    attempt.at("phase").get<std::string>(), ": ",
                    Count(attempt.at("ranks").get<int64_t>(), "rank"), ", devices ",
                    absl::StrJoin(attempt.at("devices").get<std::vector<int>>(), ", "), "\n");
  }
  return out;
}

// Returns the answer of the first worker that runs. If there is none, the error is that of the
// likeliest place.
absl::StatusOr<std::string> Ask(const CommandLine& command) {
  const std::string request = MakeRequest(command);
  const absl::StatusOr<std::string> first = AskWorker(command.state_dir, request);
  if (!absl::IsNotFound(first.status())) return first;
  for (const std::string& state_dir : command.more_state_dirs) {
    const absl::StatusOr<std::string> answer = AskWorker(state_dir, request);
    if (!absl::IsNotFound(answer.status())) return answer;
  }
  return first;
}

}  // namespace

absl::StatusOr<std::string> DescribeAnswer(absl::string_view answer) {
  const json parsed = json::parse(answer.begin(), answer.end(), nullptr, false);
  try {
    if (!parsed.at("ok").get<bool>()) {
      return absl::FailedPreconditionError(OneLine(parsed.at("error").get<std::string>()));
    }
    return Describe(parsed);
  } catch (const json::exception&) {
    return absl::DataLossError(
        absl::StrCat("the worker's answer is not understood (another version?): ", answer));
  }
}

absl::StatusOr<std::string> RunOwnerCommand(const CommandLine& command) {
  HPC_ASSIGN_OR_RETURN(const std::string answer, Ask(command));
  if (command.json) return answer + "\n";
  return DescribeAnswer(answer);
}

}  // namespace hpc::worker
