// The ordinary options of a run: each is one field of the message, and a word, a number or a time.
// Pure.
#ifndef HPC_CLIENT_CLI_INPUT_RUN_OPTION_KINDS_H_
#define HPC_CLIENT_CLI_INPUT_RUN_OPTION_KINDS_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/input/run_options.h"
#include "client/cli/input/values.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {

template <typename T>
struct SpecField {
  T (v1::RunSpec::*get)() const;
  void (v1::RunSpec::*set)(T);
  bool (v1::RunSpec::*has)() const = nullptr;
};

// Returns "time_limit" for "--time-limit".
inline std::string FieldOf(const std::string& name) {
  return absl::StrReplaceAll(name.substr(2), {{"-", "_"}});
}

template <typename E>
using WordsOf = std::vector<std::pair<std::string, E>>;

// A value that has no word here is one of a newer coordinator, and shown as "".
template <typename E>
RunOption WordOption(const std::string& name, const WordsOf<E>& words, SpecField<E> field,
                     const char* help, const char* title) {
  std::vector<std::string> choices;
  for (const auto& entry : words) choices.push_back(entry.first);
  const auto set = [=](absl::string_view option, absl::string_view value,
                       RunOptions* run) -> absl::Status {
    HPC_ASSIGN_OR_RETURN(const size_t choice, ReadChoice(option, value, choices));
    (run->spec.*field.set)(words[choice].second);
    return absl::OkStatus();
  };
  const auto show = [=](const v1::RunSpec& spec) -> Shown {
    const auto found = std::find_if(words.begin(), words.end(), [&](const auto& entry) {
      return entry.second == (spec.*field.get)();
    });
    const std::string word = found == words.end() ? "" : found->first;
    return {FieldOf(name), title, word, absl::StrCat("\"", word, "\"")};
  };
  return {name, FieldOf(name), absl::StrJoin(choices, "|"), Form::kWord, help, set, show};
}

// If 0 cannot be typed, it means that nothing is said, and people are not shown it.
template <typename T>
RunOption NumberOption(const std::string& name, const char* metavar, T min, T max,
                       SpecField<T> field, const char* help, const char* title) {
  const auto set = [=](absl::string_view option, absl::string_view value,
                       RunOptions* run) -> absl::Status {
    HPC_ASSIGN_OR_RETURN(const int64_t number, ReadInteger(option, value, min, max));
    (run->spec.*field.set)(static_cast<T>(number));
    return absl::OkStatus();
  };
  const auto show = [=](const v1::RunSpec& spec) -> Shown {
    if (field.has != nullptr && !(spec.*field.has)()) return {};
    const T number = (spec.*field.get)();
    const std::string text = absl::StrCat(number);
    return {FieldOf(name), title, number == 0 && min > 0 ? "" : text, text};
  };
  return {name, FieldOf(name), metavar, Form::kNumber, help, set, show};
}

// The field is in milliseconds, and 0 says nothing.
inline RunOption SpanOption(const std::string& name, const char* metavar, SpecField<int64_t> field,
                            const char* help, const char* title) {
  const auto set = [=](absl::string_view option, absl::string_view value,
                       RunOptions* run) -> absl::Status {
    HPC_ASSIGN_OR_RETURN(const absl::Duration span, ReadDuration(option, value));
    (run->spec.*field.set)(std::max<int64_t>(1, absl::ToInt64Milliseconds(span)));
    return absl::OkStatus();
  };
  const auto show = [=](const v1::RunSpec& spec) -> Shown {
    const int64_t ms = (spec.*field.get)();
    return {absl::StrCat(FieldOf(name), "_ms"), title,
            ms == 0 ? "" : HumanDuration(absl::Milliseconds(ms)), absl::StrCat(ms)};
  };
  return {name, FieldOf(name), metavar, Form::kSpan, help, set, show};
}

}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_RUN_OPTION_KINDS_H_
