#include "client/cli/input/options.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/cli/input/usage_error.h"
#include "common/status_macros.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr size_t kHelpColumn = 32;

absl::Status TakeRun(absl::string_view name, absl::string_view value, std::string* run) {
  *run = std::string(value);
  return value.empty() ? usage::BadValue(name, "it is empty") : absl::OkStatus();
}

}  // namespace

absl::StatusOr<int64_t> ReadInteger(absl::string_view option, absl::string_view value, int64_t min,
                                    int64_t max) {
  int64_t number = 0;
  if (absl::SimpleAtoi(value, &number) && number >= min && number <= max) return number;
  return usage::NotANumber(option, value, min, max);
}

absl::StatusOr<absl::Duration> ReadDuration(absl::string_view option, absl::string_view value) {
  const absl::StatusOr<absl::Duration> duration = ParseDuration(value);
  if (duration.ok()) return duration;
  return usage::BadValue(option, absl::string_view(duration.status().message()));
}

absl::StatusOr<size_t> ReadChoice(absl::string_view option, absl::string_view value,
                                  const std::vector<std::string>& choices) {
  const auto found = std::find(choices.begin(), choices.end(), value);
  if (found != choices.end()) return found - choices.begin();
  return usage::NotAChoice(option, value, choices);
}

void Options::Add(absl::string_view names, absl::string_view metavar, Takes takes,
                  absl::string_view help, Setter set) {
  options_.push_back({absl::StrSplit(names, ','), std::string(metavar), std::string(help), group_,
                      takes, std::move(set)});
}

void Options::Flag(absl::string_view names, bool* target, absl::string_view help) {
  Add(names, "", Takes::kNothing, help, [target](absl::string_view, absl::string_view) {
    *target = true;
    return absl::OkStatus();
  });
}

void Options::Text(absl::string_view names, absl::string_view metavar, std::string* target,
                   absl::string_view help) {
  Add(names, metavar, Takes::kValue, help,
      [target](absl::string_view option, absl::string_view value) {
        *target = std::string(value);
        return AsUsageError(CheckText(option, value));
      });
}

void Options::Word(absl::string_view names, absl::string_view metavar, std::string* target,
                   absl::string_view help) {
  Add(names, metavar, Takes::kValue, help,
      [target](absl::string_view option, absl::string_view value) {
        if (value.empty()) return usage::BadValue(option, "it is empty");
        *target = std::string(value);
        return AsUsageError(CheckText(option, value));
      });
}

void Options::Texts(absl::string_view names, absl::string_view metavar,
                    std::vector<std::string>* target, absl::string_view help) {
  Add(names, metavar, Takes::kValue, help, [target](absl::string_view, absl::string_view value) {
    target->emplace_back(value);
    return absl::OkStatus();
  });
}

void Options::List(absl::string_view names, absl::string_view metavar,
                   std::vector<std::string>* target, absl::string_view help) {
  Add(names, metavar, Takes::kValue, help,
      [target](absl::string_view option, absl::string_view value) {
        for (absl::string_view part : absl::StrSplit(value, ',')) target->emplace_back(part);
        return AsUsageError(CheckText(option, value));
      });
}

void Options::AddInteger(absl::string_view names, absl::string_view metavar,
                         std::function<void(int64_t)> store, int64_t min, int64_t max,
                         absl::string_view help) {
  Add(names, metavar, Takes::kValue, help,
      [store = std::move(store), min, max](absl::string_view option,
                                           absl::string_view value) -> absl::Status {
        HPC_ASSIGN_OR_RETURN(const int64_t number, ReadInteger(option, value, min, max));
        store(number);
        return absl::OkStatus();
      });
}

void Options::AddDuration(absl::string_view names, absl::string_view metavar,
                          std::function<void(absl::Duration)> store, absl::string_view help) {
  Add(names, metavar, Takes::kValue, help,
      [store = std::move(store)](absl::string_view option,
                                 absl::string_view value) -> absl::Status {
        HPC_ASSIGN_OR_RETURN(const absl::Duration duration, ReadDuration(option, value));
        store(duration);
        return absl::OkStatus();
      });
}

void Options::Choice(absl::string_view names, std::string* target, std::vector<std::string> choices,
                     absl::string_view help) {
  Add(names, absl::StrJoin(choices, "|"), Takes::kValue, help,
      [target, choices](absl::string_view option, absl::string_view value) -> absl::Status {
        HPC_ASSIGN_OR_RETURN(const size_t choice, ReadChoice(option, value, choices));
        *target = choices[choice];
        return absl::OkStatus();
      });
}

void Options::Argument(absl::string_view metavar, std::string* target, absl::string_view help,
                       bool required) {
  positionals_.push_back({std::string(metavar), std::string(help), required,
                          [target](absl::string_view name, absl::string_view value) {
                            *target = std::string(value);
                            return AsUsageError(CheckText(name, value));
                          }});
}

void Options::RunArgument(std::string* target) {
  positionals_.push_back({"RUN", "number or name of the run, or 'last'", true,
                          [target](absl::string_view name, absl::string_view value) {
                            return TakeRun(name, value, target);
                          }});
}

void Options::RunArguments(std::vector<std::string>* target, bool required) {
  positionals_.push_back({"RUN", "number or name of a run, or 'last'; may be given several times",
                          required,
                          [target](absl::string_view name, absl::string_view value) {
                            return TakeRun(name, value, &target->emplace_back());
                          },
                          /*repeats=*/true});
}

void Options::Program(std::vector<std::string>* target) { program_ = target; }

const Options::Option* Options::Find(absl::string_view name) const {
  for (const Option& option : options_) {
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end()) {
      return &option;
    }
  }
  return nullptr;
}

absl::Status Options::Parse(const std::vector<std::string>& words) {
  for (size_t at = 0; at < words.size() && !help_wanted_; ++at) {
    const std::string& word = words[at];
    if (word == "--help" || word == "-h") {
      help_wanted_ = true;
      return absl::OkStatus();
    }
    if (word == "--" && program_ != nullptr) {
      program_->assign(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
      break;
    }
    if (absl::StartsWith(word, "--") && word.size() > 2) {
      HPC_RETURN_IF_ERROR(ParseLong(words, &at));
    } else if (absl::StartsWith(word, "-") && word.size() > 1) {
      HPC_RETURN_IF_ERROR(ParseShort(words, &at));
    } else {
      HPC_RETURN_IF_ERROR(ParsePositional(word));
    }
  }
  return CheckComplete();
}

// Parses "--name", "--name=value" or "--name value".
absl::Status Options::ParseLong(const std::vector<std::string>& words, size_t* at) {
  const absl::string_view word = words[*at];
  const size_t equals = word.find('=');
  const absl::string_view name = word.substr(0, equals);
  const Option* option = Find(name);
  if (option == nullptr) return usage::UnknownOption(command_, name, LongNames());
  std::optional<absl::string_view> attached;
  if (equals != absl::string_view::npos) attached = word.substr(equals + 1);
  return Apply(*option, name, attached, words, at);
}

// Parses "-n", "-n value" or "-nvalue". Several flags in one word are not understood.
absl::Status Options::ParseShort(const std::vector<std::string>& words, size_t* at) {
  const absl::string_view word = words[*at];
  const absl::string_view name = word.substr(0, 2);
  const Option* option = Find(name);
  if (option == nullptr) return usage::UnknownOption(command_, word, LongNames());
  std::optional<absl::string_view> attached;
  if (word.size() > 2) attached = word.substr(word[2] == '=' ? 3 : 2);
  return Apply(*option, name, attached, words, at);
}

absl::Status Options::Apply(const Option& option, absl::string_view name,
                            std::optional<absl::string_view> attached,
                            const std::vector<std::string>& words, size_t* at) {
  if (option.takes == Takes::kNothing) {
    if (attached) return usage::ValueNotTaken(name, *attached);
    return option.set(name, "");
  }
  if (attached) return option.set(name, *attached);
  if (option.takes == Takes::kMaybeValue) return option.set(name, "");
  // A word that is itself an option was not meant as the value. "-5" and the like are values.
  const bool has_next = *at + 1 < words.size();
  if (!has_next || words[*at + 1] == "--" || Find(words[*at + 1]) != nullptr) {
    return usage::ValueMissing(name, option.metavar);
  }
  return option.set(name, words[++*at]);
}

absl::Status Options::ParsePositional(const std::string& word) {
  if (positionals_given_ < positionals_.size()) {
    const Positional& positional = positionals_[positionals_given_++];
    return positional.set(positional.metavar, word);
  }
  if (!positionals_.empty() && positionals_.back().repeats) {
    return positionals_.back().set(positionals_.back().metavar, word);
  }
  if (program_ == nullptr) return usage::UnexpectedArgument(command_, word, "");
  return usage::UnexpectedArgument(
      command_, word,
      absl::StrCat("The command to run comes after '--', as in '", examples_[0], "'."));
}

absl::Status Options::CheckComplete() const {
  const std::string example = examples_.empty() ? "hpcctl " + command_ : examples_[0];
  if (positionals_given_ < positionals_.size() && positionals_[positionals_given_].required) {
    return usage::ArgumentMissing(command_, positionals_[positionals_given_].metavar, example);
  }
  if (program_ != nullptr && program_->empty()) {
    return usage::ArgumentMissing(command_, "a command after '--'", example);
  }
  return absl::OkStatus();
}

std::vector<std::string> Options::LongNames() const {
  std::vector<std::string> names = {"--help"};
  for (const Option& option : options_) names.push_back(option.names.back());
  return names;
}

std::string Options::UsageLine() const {
  std::string line = absl::StrCat("Usage: hpcctl ", command_);
  for (const Positional& p : positionals_) {
    absl::StrAppend(&line, p.required ? " " : " [", p.metavar, p.repeats ? "..." : "",
                    p.required ? "" : "]");
  }
  if (!options_.empty()) absl::StrAppend(&line, " [options]");
  if (program_ != nullptr) absl::StrAppend(&line, " -- COMMAND [ARGS...]");
  return line;
}

std::string Options::Help() const {
  std::string out = absl::StrCat(UsageLine(), "\n\n", summary_, "\n");
  if (!details_.empty()) absl::StrAppend(&out, "\n", details_, "\n");
  const auto line = [&out](std::string left, absl::string_view help) {
    const bool fits = left.size() + 2 <= kHelpColumn;
    left.resize(std::max(left.size(), kHelpColumn), ' ');
    if (!fits) absl::StrAppend(&left, "\n", std::string(kHelpColumn, ' '));
    absl::StrAppend(&out, left, help, "\n");
  };
  if (!positionals_.empty()) out += "\nArguments:\n";
  for (const Positional& p : positionals_) line(absl::StrCat("  ", p.metavar), p.help);
  std::string group;
  for (const Option& option : options_) {
    if (option.group != group) absl::StrAppend(&out, "\n", option.group, ":\n");
    group = option.group;
    const bool has_short = option.names[0].size() == 2;
    std::string left =
        absl::StrCat("  ", has_short ? "" : "    ", absl::StrJoin(option.names, ", "));
    if (option.takes == Takes::kValue) absl::StrAppend(&left, " ", option.metavar);
    if (option.takes == Takes::kMaybeValue) absl::StrAppend(&left, "[=", option.metavar, "]");
    line(std::move(left), option.help);
  }
  if (!examples_.empty()) {
    absl::StrAppend(&out, "\nExamples:\n  ", absl::StrJoin(examples_, "\n  "), "\n");
  }
  return out;
}

}  // namespace hpc::client
