#include "client/cli/hints/address_check.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/input/interpreters.h"
#include "client/cli/input/launcher_check.h"
#include "client/cli/input/shell_text.h"

namespace hpc::client {
namespace {

constexpr std::array kNames = {"MASTER_ADDR", "MASTER_PORT"};

std::string SetByOption(const v1::RunSpec& spec) {
  for (const v1::KeyValue& variable : spec.env()) {
    for (const char* name : kNames) {
      if (variable.key() == name) return absl::StrCat("--env ", name);
    }
  }
  return "";
}

// A value that names the variable itself, as MASTER_ADDR=${MASTER_ADDR:-localhost}, leaves ours.
bool Sets(absl::string_view word, absl::string_view name) {
  return absl::StartsWith(word, absl::StrCat(name, "=")) &&
         !absl::StrContains(word.substr(name.size()), name);
}

// Whether the text looks first whether the variable is set.
bool Asks(absl::string_view text, absl::string_view name) {
  for (const char* test : {"-z \"$", "-z $", "-z \"${", "-z ${", "-v "}) {
    if (absl::StrContains(text, absl::StrCat(test, name))) return true;
  }
  return false;
}

std::string SetInShellText(absl::string_view text) {
  for (const std::string& line : ShellLines(text)) {
    for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t;&|("))) {
      for (const char* name : kNames) {
        if (Sets(word, name) && !Asks(text, name)) return absl::StrCat("the script's ", name);
      }
    }
  }
  return "";
}

// Looks for os.environ["MASTER_ADDR"] = ...; setdefault() leaves ours. A script that makes its own
// ranks serves the store itself.
std::string SetInPython(absl::string_view script) {
  if (absl::StrContains(script, "spawn(")) return "";
  for (const char* name : kNames) {
    for (const char* quote : {"\"", "'"}) {
      const std::string variable = absl::StrCat("os.environ[", quote, name, quote, "]");
      for (size_t at = script.find(variable); at != absl::string_view::npos;
           at = script.find(variable, at + 1)) {
        const absl::string_view rest =
            absl::StripLeadingAsciiWhitespace(script.substr(at + variable.size()));
        if (absl::StartsWith(rest, "=") && !absl::StartsWith(rest, "==")) {
          return absl::StrCat("the script's ", name);
        }
      }
    }
  }
  return "";
}

}  // namespace

std::string MasterAddressHint(const v1::RunSpec& spec, absl::string_view script) {
  const bool alone = spec.max_nodes() <= 1 && spec.ranks_per_node() <= 1;
  if (alone || spec.mode() == v1::LAUNCH_MODE_PER_NODE || spec.store_host() == v1::STORE_HOST_RANK0)
    return "";
  std::string what = SetByOption(spec);
  if (what.empty()) what = SetInShellText(ShellTextOf(spec.command(), script));
  const bool python = !spec.command().empty() && IsPython(FileName(spec.command(0)));
  if (what.empty() && python) what = SetInPython(script);
  if (what.empty()) return "";
  return absl::StrCat(
      what,
      " takes the place of hpcctl's, and nobody serves a store there, so ranks would "
      "wait for it: leave MASTER_ADDR and MASTER_PORT out, or let rank 0 serve it "
      "with --store rank0");
}

}  // namespace hpc::client
