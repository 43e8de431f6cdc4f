#include "train/tool/option_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/text.h"

namespace hpc::train {
namespace {

double RealOf(const std::string& name, const std::string& text, double least) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value) || value < least) {
    throw UsageError(
        absl::StrCat("--", name, ": '", text, "' is no number of ", least, " or more"));
  }
  return value;
}

}  // namespace

void OptionTable::Whole(const std::string& name, int64_t* to, int64_t least,
                        const std::string& help, Compared compared, int64_t most) {
  auto set = [=](const std::string& text) {
    int64_t value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= least && value <= most) {
      *to = value;
      return;
    }
    throw UsageError(absl::StrCat("--", name, ": '", text, "' is no whole number of ", least,
                                  most == INT64_MAX ? " or more" : absl::StrCat(" to ", most)));
  };
  options_.push_back({name, "N", help, set, [=] { return absl::StrCat(*to); }, compared});
}

void OptionTable::Real(const std::string& name, double* to, double least, const std::string& help) {
  auto set = [=](const std::string& text) { *to = RealOf(name, text, least); };
  options_.push_back({name, "X", help, set, [=] { return absl::StrCat(*to); }, Compared::kYes});
}

void OptionTable::Text(const std::string& name, std::string* to, const std::string& help,
                       Compared compared) {
  options_.push_back({name, "TEXT", help, [=](const std::string& text) { *to = text; },
                      [=] { return *to; }, compared});
}

void OptionTable::Choice(const std::string& name, std::string* to, std::vector<std::string> choices,
                         const std::string& help, Compared compared) {
  const std::string listed = absl::StrJoin(choices, "|");
  auto set = [=, choices = std::move(choices)](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      throw UsageError(absl::StrCat("--", name, ": '", text, "' is none of ", listed));
    }
    *to = text;
  };
  options_.push_back({name, listed, help, set, [=] { return *to; }, compared});
}

void OptionTable::Switch(const std::string& name, bool* to, const std::string& help) {
  options_.push_back({name, "", help, [=](const std::string&) { *to = true; },
                      [=] { return *to ? "yes" : "no"; }, Compared::kYes});
}

void OptionTable::Reals(const std::string& name, std::vector<double>* to, const std::string& help) {
  auto set = [=](const std::string& text) {
    to->clear();
    for (const std::string& one : std::vector<std::string>(absl::StrSplit(text, ','))) {
      to->push_back(RealOf(name, one, 0));
    }
  };
  options_.push_back(
      {name, "X,X...", help, set, [=] { return absl::StrJoin(*to, ","); }, Compared::kYes});
}

bool OptionTable::Has(const std::string& name) const {
  return std::any_of(options_.begin(), options_.end(),
                     [&](const Option& option) { return option.name == name; });
}

bool OptionTable::IsSwitch(const std::string& name) const { return Find(name).argument.empty(); }

const OptionTable::Option& OptionTable::Find(const std::string& name) const {
  std::vector<std::string> names;
  for (const Option& option : options_) {
    if (option.name == name) return option;
    names.push_back(option.name);
  }
  const std::string near = Nearest(name, names);
  throw UsageError(absl::StrCat("there is no option --", name,
                                near.empty() ? "" : absl::StrCat("; did you mean --", near, "?")));
}

void OptionTable::Parse(const std::vector<std::string>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (!absl::StartsWith(argument, "--") || argument.size() == 2) {
      throw UsageError(absl::StrCat("'", argument, "' is no option"));
    }
    const size_t equals = argument.find('=');
    const bool joined = equals != std::string::npos;
    const Option& option = Find(argument.substr(2, joined ? equals - 2 : std::string::npos));
    if (option.argument.empty()) {
      if (joined) throw UsageError(absl::StrCat("--", option.name, " takes no value"));
      option.set("");
    } else if (joined) {
      option.set(argument.substr(equals + 1));
    } else if (++i == arguments.size()) {
      throw UsageError(absl::StrCat("--", option.name, " needs a value (", option.argument, ")"));
    } else {
      option.set(arguments[i]);
    }
    said_.insert(option.name);
  }
}

std::string OptionTable::Help(const std::set<std::string>& hidden,
                              const std::set<std::string>& left_out) const {
  constexpr size_t kWidth = 26;
  std::string help;
  for (const Option& option : options_) {
    if (left_out.count(option.name) != 0) continue;
    std::string left =
        absl::StrCat("  --", option.name, option.argument.empty() ? "" : " ", option.argument, " ");
    if (left.size() > kWidth) left += "\n" + std::string(kWidth, ' ');
    if (left.size() < kWidth) left.resize(kWidth, ' ');
    const std::string now = option.show();
    absl::StrAppend(&help, left, option.help,
                    now.empty() || option.argument.empty() || hidden.count(option.name) != 0
                        ? ""
                        : absl::StrCat(" (", now, ")"),
                    "\n");
  }
  return help;
}

std::vector<std::string> OptionTable::Lines() const {
  std::vector<std::string> lines;
  for (const Option& option : options_) {
    if (option.compared == Compared::kNo) continue;
    lines.push_back(absl::StrCat("option ", option.name, "=", OneLine(option.show())));
  }
  return lines;
}

}  // namespace hpc::train
