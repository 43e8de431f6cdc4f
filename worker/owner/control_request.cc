#include "worker/owner/control_request.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::worker {
namespace {

using nlohmann::json;

constexpr int64_t kMaxMs = int64_t{10} * 365 * 24 * 3600 * 1000;

// A number of milliseconds, which must be in range; 0 if it is missing.
absl::StatusOr<int64_t> Milliseconds(const json& request, const char* key) {
  const auto it = request.find(key);
  if (it == request.end()) return 0;
  if (!it->is_number_integer() || it->get<int64_t>() < 0 || it->get<int64_t>() > kMaxMs) {
    return absl::InvalidArgumentError(std::string(key) + " is not a number of milliseconds");
  }
  return it->get<int64_t>();
}

// The command; "" if there is none. The value is not copied before its type is known: lists in
// lists, as deep as a request is long, would be copied by as many nested calls.
std::string CommandOf(const json& request) {
  const auto it = request.find("command");
  return it != request.end() && it->is_string() ? it->get<std::string>() : "";
}

// An owner who mistypes "for" must not get a reclaim without an end.
absl::Status CheckKeys(const json& request, std::initializer_list<absl::string_view> known) {
  for (const auto& [key, ignored] : request.items()) {
    if (std::count(known.begin(), known.end(), absl::string_view(key)) > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(CommandOf(request), " knows no \"", key,
                                                   "\"; it takes \"",
                                                   absl::StrJoin(known, "\", \""), "\""));
  }
  return absl::OkStatus();
}

absl::StatusOr<YieldRequest> ParseReclaim(const json& request) {
  YieldRequest yield;
  HPC_RETURN_IF_ERROR(CheckKeys(request, {"command", "for_ms", "grace_ms", "reason"}));
  HPC_ASSIGN_OR_RETURN(const int64_t for_ms, Milliseconds(request, "for_ms"));
  HPC_ASSIGN_OR_RETURN(const int64_t grace_ms, Milliseconds(request, "grace_ms"));
  if (for_ms > 0) yield.duration = absl::Milliseconds(for_ms);
  if (request.contains("grace_ms")) yield.grace = absl::Milliseconds(grace_ms);
  if (const auto reason = request.find("reason"); reason != request.end()) {
    if (!reason->is_string()) return absl::InvalidArgumentError("reason is not a text");
    yield.reason = reason->get<std::string>();
    HPC_RETURN_IF_ERROR(CheckText("reason", yield.reason));
  }
  return yield;
}

}  // namespace

absl::StatusOr<ControlRequest> ParseControlRequest(const std::string& line) {
  const json request = json::parse(line, nullptr, /*allow_exceptions=*/false);
  const std::string command = CommandOf(request);
  ControlRequest out;
  if (command == "reclaim") {
    out.command = ControlCommand::kReclaim;
    HPC_ASSIGN_OR_RETURN(out.reclaim, ParseReclaim(request));
    return out;
  }
  if (command != "status" && command != "lend") {
    return absl::InvalidArgumentError(
        "expected one line of JSON with \"command\": \"status\", \"reclaim\" or \"lend\"");
  }
  HPC_RETURN_IF_ERROR(CheckKeys(request, {"command"}));
  if (command == "lend") out.command = ControlCommand::kLend;
  return out;
}

}  // namespace hpc::worker
