#include "client/cli/show/words.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/signal_name.h"

namespace hpc::client {

std::string Word(v1::RunState state) {
  if (state == v1::RUN_STATE_UNSPECIFIED || !v1::RunState_IsValid(state)) return "unknown";
  absl::string_view name = v1::RunState_Name(state);
  absl::ConsumePrefix(&name, "RUN_STATE_");
  return absl::StrReplaceAll(absl::AsciiStrToLower(name), {{"_", "-"}});
}

std::string Word(v1::DeviceKind kind) { return kind == v1::DEVICE_KIND_GPU ? "gpu" : "cpu-slot"; }

std::string Word(v1::Severity severity) {
  if (severity == v1::SEVERITY_ERROR) return "error";
  return severity == v1::SEVERITY_WARNING ? "warning" : "info";
}

std::vector<std::string> RunStateWords() {
  std::vector<std::string> words;
  for (int i = v1::RUN_STATE_QUEUED; i <= v1::RunState_MAX; ++i) {
    words.push_back(Word(static_cast<v1::RunState>(i)));
  }
  return words;
}

v1::RunState RunStateOf(const std::string& word) {
  for (int i = v1::RUN_STATE_QUEUED; i <= v1::RunState_MAX; ++i) {
    if (Word(static_cast<v1::RunState>(i)) == word) return static_cast<v1::RunState>(i);
  }
  return v1::RUN_STATE_UNSPECIFIED;
}

Colour ColourOf(v1::RunState state) {
  switch (state) {
    case v1::RUN_STATE_RUNNING:
    case v1::RUN_STATE_SUCCEEDED:
      return Colour::kGood;
    case v1::RUN_STATE_FAILED:
    case v1::RUN_STATE_TIMED_OUT:
      return Colour::kBad;
    case v1::RUN_STATE_CANCELLED:
      return Colour::kQuiet;
    default:
      return Colour::kBusy;
  }
}

Colour ColourOf(v1::Severity severity) {
  if (severity == v1::SEVERITY_ERROR) return Colour::kBad;
  return severity == v1::SEVERITY_WARNING ? Colour::kBusy : Colour::kNone;
}

Colour ColourOfNode(const std::string& state) {
  if (state == "idle" || state == "busy") return Colour::kGood;
  if (state == "lost" || state == "unknown" || state == "revoked") return Colour::kBad;
  return state == "off" || state == "stopped" ? Colour::kQuiet : Colour::kBusy;
}

std::string ExitWords(const v1::Rank& rank) {
  if (!rank.has_exit()) return rank.ended_at_us() == 0 ? "running" : "unknown";
  std::string words = rank.exit().has_signal() ? SignalName(rank.exit().signal())
                                               : absl::StrCat("code ", rank.exit().exit_code());
  if (rank.exit().after_stop()) words += " after stop";
  return words;
}

}  // namespace hpc::client
