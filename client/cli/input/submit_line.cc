#include "client/cli/input/submit_line.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "client/cli/input/suggest.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

using Json = nlohmann::json;
// Stores one field's value. The error says what the field takes.
using Store = std::function<absl::Status(const std::string& name, const Json&, RunOptions*)>;

absl::Status Wrong(const std::string& name, absl::string_view takes, const Json& value) {
  std::string found = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (found.size() > 60) found = absl::StrCat(found.substr(0, 60), "...");
  return UsageError(absl::StrCat("'", name, "' takes ", takes, ", not ", ToValidUtf8(found)));
}

Store TextInto(std::string RunOptions::*member) {
  return [member](const std::string& name, const Json& value, RunOptions* run) {
    if (!value.is_string()) return Wrong(name, "a text", value);
    run->*member = value.get<std::string>();
    return absl::OkStatus();
  };
}

Store ChoiceInto(std::string RunOptions::*member, const std::vector<std::string>& choices) {
  return [member, &choices](const std::string& name, const Json& value, RunOptions* run) {
    const std::string word = value.is_string() ? value.get<std::string>() : value.dump();
    if (std::find(choices.begin(), choices.end(), word) == choices.end()) {
      return usage::NotAChoice(absl::StrCat("'", name, "'"), word, choices);
    }
    run->*member = word;
    return absl::OkStatus();
  };
}

Store TextsInto(std::vector<std::string> RunOptions::*member) {
  return [member](const std::string& name, const Json& value, RunOptions* run) {
    const auto is_text = [](const Json& item) { return item.is_string(); };
    if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_text)) {
      return Wrong(name, "an array of texts", value);
    }
    run->*member = value.get<std::vector<std::string>>();
    return absl::OkStatus();
  };
}

// Stores an array of whole numbers in the form in which they are typed, so that the run's checks
// take them.
Store IntegersInto(std::vector<std::string> RunOptions::*member) {
  return [member](const std::string& name, const Json& value, RunOptions* run) {
    const auto is_integer = [](const Json& item) { return item.is_number_integer(); };
    if (!value.is_array() || !std::all_of(value.begin(), value.end(), is_integer)) {
      return Wrong(name, "an array of whole numbers", value);
    }
    for (const Json& item : value) (run->*member).push_back(item.dump());
    return absl::OkStatus();
  };
}

template <typename T>
Store IntegerInto(T RunOptions::*member, int64_t min, int64_t max) {
  return [member, min, max](const std::string& name, const Json& value, RunOptions* run) {
    // A number beyond int64 is unsigned, and would be read as a negative one.
    const bool too_large =
        value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(max);
    if (!value.is_number_integer() || too_large || value.get<int64_t>() < min ||
        value.get<int64_t>() > max) {
      return usage::NotANumber(absl::StrCat("'", name, "'"), value.dump(), min, max);
    }
    if constexpr (std::is_same_v<T, int64_t>) {
      run->*member = value.get<int64_t>();
    } else {
      run->*member = value.get<int32_t>();
    }
    return absl::OkStatus();
  };
}

// Takes "2h", or a number of seconds.
Store DurationInto(std::optional<absl::Duration> RunOptions::*member) {
  return [member](const std::string& name, const Json& value, RunOptions* run) {
    if (!value.is_string() && !value.is_number()) {
      return Wrong(name, "a duration, as \"2h\" or a number of seconds", value);
    }
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    const absl::StatusOr<absl::Duration> duration = ParseDuration(text);
    if (!duration.ok()) {
      return usage::BadValue(absl::StrCat("'", name, "'"),
                             absl::string_view(duration.status().message()));
    }
    run->*member = *duration;
    return absl::OkStatus();
  };
}

// Takes an object of plain values, and stores them as "key=value".
Store PairsInto(std::vector<std::string> RunOptions::*member) {
  return [member](const std::string& name, const Json& value, RunOptions* run) {
    if (!value.is_object()) return Wrong(name, "an object of plain values", value);
    for (const auto& [key, item] : value.items()) {
      if (key.find('=') != std::string::npos) {
        return UsageError(
            absl::StrCat("'", name, "' has the name '", ToValidUtf8(key), "', which contains '='"));
      }
      if (item.is_structured() || item.is_null()) {
        return Wrong(absl::StrCat(name, ".", key), "a plain value", item);
      }
      const std::string text = item.is_string() ? item.get<std::string>() : item.dump();
      (run->*member).push_back(absl::StrCat(key, "=", text));
    }
    return absl::OkStatus();
  };
}

absl::Status StoreNodes(const std::string& name, const Json& value, RunOptions* run) {
  if (!value.is_number_integer() && !value.is_string()) {
    return Wrong(name, "a number of nodes or a range, as 4 or \"2:4\"", value);
  }
  run->nodes = value.is_string() ? value.get<std::string>() : value.dump();
  return absl::OkStatus();
}

absl::Status StoreEnvAll(const std::string& name, const Json& value, RunOptions* run) {
  if (!value.is_boolean()) return Wrong(name, "true or false", value);
  run->env_all = value.get<bool>();
  return absl::OkStatus();
}

const std::map<std::string, Store>& Fields() {
  static const auto* fields = new std::map<std::string, Store>{
      {"command", TextsInto(&RunOptions::command)},
      {"nodes", StoreNodes},
      {"ranks_per_node", IntegerInto(&RunOptions::ranks_per_node, 1, kMaxCount)},
      {"gpus_per_node", IntegerInto(&RunOptions::gpus_per_node, 0, kMaxCount)},
      {"nodelist", TextsInto(&RunOptions::node_list)},
      {"exclude", TextsInto(&RunOptions::exclude)},
      {"mode", ChoiceInto(&RunOptions::mode, ModeWords())},
      {"grow", ChoiceInto(&RunOptions::grow, GrowWords())},
      {"store", ChoiceInto(&RunOptions::store, StoreWords())},
      {"legacy_local_rank", ChoiceInto(&RunOptions::legacy_local_rank, LegacyLocalRankWords())},
      {"name", TextInto(&RunOptions::name)},
      {"experiment", TextInto(&RunOptions::experiment)},
      {"params", PairsInto(&RunOptions::params)},
      {"tags", TextsInto(&RunOptions::tags)},
      {"env", PairsInto(&RunOptions::env)},
      {"env_all", StoreEnvAll},
      {"env_secret", TextsInto(&RunOptions::env_secret)},
      {"priority", IntegerInto(&RunOptions::priority, -kMaxPriority, kMaxPriority)},
      {"after", IntegerInto(&RunOptions::after, 1, std::numeric_limits<int64_t>::max())},
      {"time_limit", DurationInto(&RunOptions::time_limit)},
      {"stop_grace", DurationInto(&RunOptions::stop_grace)},
      {"max_restarts", IntegerInto(&RunOptions::max_restarts, 0, kMaxCount)},
      {"retry_exits", IntegersInto(&RunOptions::retry_exits)},
      {"workdir", TextInto(&RunOptions::workdir)},
  };
  return *fields;
}

// No field nests deeper than 2. The depth is limited because printing and freeing a value take
// stack for each level.
constexpr int kMaxDepth = 16;

// Refuses what the parser itself would let pass: nesting that is too deep, and a key that is given
// twice.
class LineCheck {
 public:
  // nlohmann's parser calls this. False: the value is left out.
  bool operator()(int depth, Json::parse_event_t event, const Json& value) {
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth > kMaxDepth) {
      error_ = UsageError(absl::StrCat("arrays and objects nest more than ", kMaxDepth, " deep"));
    }
    if (!error_.ok()) return false;
    if (event == Json::parse_event_t::object_start) keys_.emplace_back();
    if (event == Json::parse_event_t::object_end) keys_.pop_back();
    if (event == Json::parse_event_t::key) {
      const std::string key = value.get<std::string>();
      if (!keys_.back().insert(key).second) {
        error_ = UsageError(absl::StrCat("'", ToValidUtf8(key), "' is given twice"));
      }
    }
    return true;
  }
  const absl::Status& error() const { return error_; }

 private:
  std::vector<std::set<std::string>> keys_;  // one set for each object that is open
  absl::Status error_;
};

}  // namespace

std::vector<std::string> SubmitFields() {
  std::vector<std::string> names;
  for (const auto& [name, store] : Fields()) names.push_back(name);
  return names;
}

absl::StatusOr<RunOptions> ParseSubmitLine(const std::string& line) {
  if (const absl::Status text = CheckText("the line", line); !text.ok()) {
    return UsageError(absl::StrCat(text.message(), ": save the file as UTF-8"));
  }
  LineCheck check;
  const Json parsed = Json::parse(line, std::ref(check), /*allow_exceptions=*/false);
  HPC_RETURN_IF_ERROR(check.error());
  if (!parsed.is_object()) {
    return UsageError(
        "not a JSON object; a line is as {\"command\": [\"python\", \"train.py\"], \"nodes\": 2}");
  }
  RunOptions run;
  for (const auto& [name, value] : parsed.items()) {
    const auto field = Fields().find(name);
    if (field == Fields().end()) {
      return UsageError(absl::StrCat("there is no field '", ToValidUtf8(name), "'.",
                                     DidYouMean(name, SubmitFields())));
    }
    HPC_RETURN_IF_ERROR(field->second(name, value, &run));
  }
  return run;
}

}  // namespace hpc::client
