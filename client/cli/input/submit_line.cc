#include "client/cli/input/submit_line.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "client/cli/input/suggest.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

using Json = nlohmann::json;

absl::Status Wrong(const std::string& name, absl::string_view takes, const Json& value) {
  std::string found = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (found.size() > 60) found = absl::StrCat(found.substr(0, 60), "...");
  return UsageError(absl::StrCat("'", name, "' takes ", takes, ", not ", ToValidUtf8(found)));
}

bool IsBool(const Json& value) { return value.is_boolean(); }
bool IsInteger(const Json& value) { return value.is_number_integer(); }
bool IsText(const Json& value) { return value.is_string(); }
bool IsTextOrInteger(const Json& value) { return IsText(value) || IsInteger(value); }
bool IsTextOrNumber(const Json& value) { return IsText(value) || value.is_number(); }
bool IsObject(const Json& value) { return value.is_object(); }
template <bool (*is_item)(const Json&)>
bool IsArrayOf(const Json& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), is_item);
}

// What a value is, by the form of its option. Words and numbers are not here: whoever reads them
// says what they are.
struct Kind {
  bool (*is)(const Json&);
  const char* words;
};
const std::map<Form, Kind>& Kinds() {
  static const auto* kinds = new std::map<Form, Kind>{
      {Form::kText, {IsText, "a text"}},
      {Form::kSpan, {IsTextOrNumber, "a duration, as \"2h\" or a number of seconds"}},
      {Form::kNodes, {IsTextOrInteger, "a number of nodes or a range, as 4 or \"2:4\""}},
      {Form::kFlag, {IsBool, "true or false"}},
      {Form::kTexts, {IsArrayOf<IsText>, "an array of texts"}},
      {Form::kList, {IsArrayOf<IsText>, "an array of texts"}},
      {Form::kNumbers, {IsArrayOf<IsInteger>, "an array of whole numbers"}},
      {Form::kPairs, {IsObject, "an object of plain values"}},
  };
  return *kinds;
}

// Returns the value as it is typed. A text in the place of a number keeps its quotes, and is
// refused with them.
std::string Typed(const Json& value, Form form) {
  const bool bare = IsText(value) && form != Form::kNumber;
  return bare ? value.get<std::string>() : value.dump();
}

absl::StatusOr<std::vector<std::string>> PairsOf(const std::string& name, const Json& value) {
  std::vector<std::string> pairs;
  for (const auto& [key, item] : value.items()) {
    if (key.find('=') != std::string::npos) {
      return UsageError(
          absl::StrCat("'", name, "' has the name '", ToValidUtf8(key), "', which contains '='"));
    }
    if (item.is_structured() || item.is_null()) {
      return Wrong(absl::StrCat(name, ".", key), "a plain value", item);
    }
    pairs.push_back(absl::StrCat(key, "=", Typed(item, Form::kText)));
  }
  return pairs;
}

// Returns the values of the option as they are typed.
absl::StatusOr<std::vector<std::string>> ValuesOf(const RunOption& option, const Json& value) {
  const auto kind = Kinds().find(option.form);
  if (kind != Kinds().end() && !kind->second.is(value)) {
    return Wrong(option.field, kind->second.words, value);
  }
  if (option.form == Form::kPairs) return PairsOf(option.field, value);
  std::vector<std::string> values;
  if (value.is_array()) {
    for (const Json& item : value) values.push_back(Typed(item, option.form));
  } else if (option.form != Form::kFlag || value.get<bool>()) {
    values.push_back(Typed(value, option.form));
  }
  return values;
}

absl::Status SetField(const std::string& name, const Json& value, RunOptions* run) {
  const auto& all = AllRunOptions();
  const auto option = std::find_if(all.begin(), all.end(),
                                   [&](const RunOption& each) { return each.field == name; });
  if (option == all.end()) {
    return UsageError(absl::StrCat("there is no field '", ToValidUtf8(name), "'.",
                                   DidYouMean(name, SubmitFields())));
  }
  HPC_ASSIGN_OR_RETURN(const std::vector<std::string> values, ValuesOf(*option, value));
  for (const std::string& each : values) {
    HPC_RETURN_IF_ERROR(SetOption(*option, absl::StrCat("'", name, "'"), each, run));
  }
  return absl::OkStatus();
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
  for (const RunOption& option : AllRunOptions()) names.push_back(option.field);
  std::sort(names.begin(), names.end());
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
    HPC_RETURN_IF_ERROR(SetField(name, value, &run));
  }
  return run;
}

}  // namespace hpc::client
