#include "worker/attempts/stop_words.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "protocol/sigterm_answer.h"
#include "worker/attempts/event_age.h"

namespace hpc::worker {
namespace {

constexpr std::array<std::pair<protocol::HaltKind, const char*>, 5> kPrefixes{{
    {protocol::HaltKind::kOwner, "owner: "},
    {protocol::HaltKind::kCutOff, "cut off: "},
    {protocol::HaltKind::kSupervisorLost, "store lost: "},
    {protocol::HaltKind::kLeaving, "leaving: "},
    {protocol::HaltKind::kDamaged, "damaged: "},
}};

protocol::Halt OwnHalt(const std::string& words) {
  if (words == "recall") {
    return {protocol::HaltKind::kCutOff,
            "its worker was gone, and the coordinator had another node end its ranks"};
  }
  if (words == "lease") {
    return {protocol::HaltKind::kCutOff,
            "its node had no contact with the coordinator for stop_after_disconnect, or its worker "
            "was gone or stood still as long"};
  }
  if (words == "fence") {
    return {protocol::HaltKind::kCutOff,
            "its node had lost contact with the coordinator and with others of the gang, or its "
            "worker stood still"};
  }
  return {protocol::HaltKind::kSupervisorLost, "its supervisor was told to end by " + words,
          absl::ZeroDuration(), protocol::kSigtermSpread};
}

protocol::Halt Meaning(const std::string& words) {
  if (IsItsOwnReason(words)) return OwnHalt(words);
  for (const auto& [kind, prefix] : kPrefixes) {
    absl::string_view reason = words;
    if (absl::ConsumePrefix(&reason, prefix)) return {kind, std::string(reason)};
  }
  return {};
}

}  // namespace

std::string StopWords(protocol::HaltKind halt, const std::string& reason) {
  for (const auto& [kind, prefix] : kPrefixes) {
    if (kind == halt) return absl::StrCat(prefix, reason);
  }
  // The prefix keeps words that a coordinator has chosen from being taken for ours.
  return absl::StrCat("told: ", reason);
}

bool IsItsOwnReason(const std::string& words) {
  return words == "lease" || words == "fence" || words == "recall" || words == "SIGTERM";
}

protocol::Halt HaltOfStop(const StopBegan& stop, int64_t now_ns) {
  protocol::Halt halt = Meaning(stop.reason);
  halt.ago = EventAge(stop.at_ns, now_ns);
  return halt;
}

}  // namespace hpc::worker
