#include "tests/sim/arguments.h"

#include <fstream>
#include <iterator>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace hpc::sim {

const char kUsage[] =
    "usage: hpc-sim [--seed N | --seeds A:B | --scenario FILE] [--set NAME=VALUE]... [--bug NAME]\n"
    "               [--every-bug] [--trace] [--jobs N]\n"
    "  --seed N          one seed; its trace is printed if it fails\n"
    "  --seeds A:B       all of these, and then the first that fails\n"
    "  --scenario FILE   a seed that was kept, with its settings\n"
    "  --set NAME=VALUE  instead of what the seed draws, as a line of a scenario\n"
    "  --bug NAME        with a planted bug; --bug list names them\n"
    "  --every-bug       succeeds if each planted bug is found by one of the seeds\n"
    "  --trace           prints what happens in a seed that does not fail too\n"
    "  --jobs N          threads; by default one for each core\n";

namespace {

absl::StatusOr<Options> ReadScenario(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError("cannot read " + path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  absl::StatusOr<Options> options = ParseScenario(text);
  if (options.ok()) return options;
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", options.status().message()));
}

absl::Status ParseRange(const std::string& value, Arguments* out) {
  const std::vector<std::string> range = absl::StrSplit(value, ':');
  const bool ok = !range.empty() && range.size() <= 2 &&
                  absl::SimpleAtoi(range.front(), &out->first) &&
                  absl::SimpleAtoi(range.back(), &out->last) && out->first <= out->last;
  if (ok) return absl::OkStatus();
  return absl::InvalidArgumentError("seeds " + value + ": neither a number nor FIRST:LAST");
}

absl::Status ParseValue(const std::string& name, const std::string& value, Arguments* out) {
  if (name == "--seed" || name == "--seeds") return ParseRange(value, out);
  if (name == "--scenario") {
    HPC_ASSIGN_OR_RETURN(out->scenario, ReadScenario(value));
    out->first = out->last = out->scenario->seed;
  } else if (name == "--set") {
    out->settings.push_back(absl::StrSplit(value, absl::MaxSplits('=', 1)));
  } else if (name == "--bug" && value == "list") {
    out->list_bugs = true;
  } else if (name == "--bug") {
    out->settings.emplace_back("bug", value);
  } else if (name != "--jobs" || !absl::SimpleAtoi(value, &out->jobs)) {
    return absl::InvalidArgumentError(absl::StrCat(name, " ", value, ": unknown"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Arguments> ParseArguments(const std::vector<std::string>& words) {
  Arguments out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--trace") {
      out.trace = true;
    } else if (words[i] == "--every-bug") {
      out.every_bug = true;
    } else if (i + 1 == words.size()) {
      return absl::InvalidArgumentError(words[i] + ": unknown, or without a value");
    } else {
      HPC_RETURN_IF_ERROR(ParseValue(words[i], words[i + 1], &out));
      ++i;
    }
  }
  Options checked = DrawOptions(1);
  for (const auto& [name, value] : out.settings) {
    HPC_RETURN_IF_ERROR(SetOption(name, value, &checked));
  }
  return out;
}

}  // namespace hpc::sim
