#include "client/cli/input/usage_error.h"

#include <limits>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/input/foreign_words.h"
#include "client/cli/input/suggest.h"
#include "common/text.h"

namespace hpc::client {
namespace {

constexpr absl::string_view kPayload = "hpc.usage";

std::string InQuotes(absl::string_view typed) { return absl::StrCat("'", ToValidUtf8(typed), "'"); }

// Returns "hpcctl run", or the program's name alone if `command` is empty.
std::string Full(absl::string_view command) {
  return command.empty() ? "hpcctl" : absl::StrCat("hpcctl ", command);
}

std::string SeeHelp(absl::string_view command) {
  return absl::StrCat(" '", Full(command), " --help' shows what it takes.");
}

}  // namespace

absl::Status UsageError(absl::string_view message) {
  absl::Status status = absl::InvalidArgumentError(message);
  status.SetPayload(kPayload, absl::Cord());
  return status;
}

bool IsUsageError(const absl::Status& status) { return status.GetPayload(kPayload).has_value(); }

absl::Status AsUsageError(const absl::Status& status) {
  return status.ok() ? status : UsageError(absl::StrCat(status.message(), "."));
}

namespace usage {

absl::Status UnknownCommand(absl::string_view typed, const std::vector<std::string>& commands) {
  const absl::string_view ours = OursForCommand(typed);
  return UsageError(
      absl::StrCat("there is no command ", InQuotes(typed), ".",
                   ours.empty() ? DidYouMean(typed, commands) : absl::StrCat(" ", ours),
                   " 'hpcctl help' lists all commands."));
}

absl::Status SecondWordMissing(absl::string_view first, const std::vector<std::string>& seconds) {
  return UsageError(absl::StrCat("'", Full(first), "' needs a second word: ",
                                 absl::StrJoin(seconds, ", "), ".", SeeHelp(first)));
}

absl::Status UnknownSecondWord(absl::string_view first, absl::string_view typed,
                               const std::vector<std::string>& seconds) {
  return UsageError(absl::StrCat("'", Full(first), "' is followed by one of ",
                                 absl::StrJoin(seconds, ", "), ", not ", InQuotes(typed), ".",
                                 DidYouMean(typed, seconds), SeeHelp(first)));
}

absl::Status UnknownOption(absl::string_view command, absl::string_view typed,
                           const std::vector<std::string>& options) {
  const absl::string_view ours = OursForRunOption(typed);
  std::string hint = DidYouMean(typed, options);
  if (command == "run" && !ours.empty()) hint = absl::StrCat(" ", ours);
  if (command.empty() && hint.empty()) {
    hint = " Options come after the command's name, as in 'hpcctl run -N 4 -- python train.py'.";
  }
  return UsageError(absl::StrCat("'", Full(command), "' has no option ", InQuotes(typed), ".", hint,
                                 SeeHelp(command)));
}

absl::Status ValueMissing(absl::string_view option, absl::string_view metavar) {
  return UsageError(
      absl::StrCat(option, " needs a value, as in '", option, " ", metavar, "'; none was given."));
}

absl::Status ValueNotTaken(absl::string_view option, absl::string_view value) {
  return UsageError(absl::StrCat(option, " takes no value; ", InQuotes(value), " was given."));
}

absl::Status ArgumentMissing(absl::string_view command, absl::string_view metavar,
                             absl::string_view example) {
  return UsageError(absl::StrCat("'", Full(command), "' needs ", metavar, ", as in '", example,
                                 "'; none was given."));
}

absl::Status UnexpectedArgument(absl::string_view command, absl::string_view typed,
                                absl::string_view hint) {
  return UsageError(absl::StrCat("'", Full(command), "' has no use for ", InQuotes(typed), ".",
                                 hint.empty() ? SeeHelp(command) : absl::StrCat(" ", hint)));
}

absl::Status NotANumber(absl::string_view option, absl::string_view typed, int64_t min,
                        int64_t max) {
  const std::string range = max >= std::numeric_limits<int32_t>::max()
                                ? absl::StrCat("of at least ", min)
                                : absl::StrCat("from ", min, " to ", max);
  return UsageError(
      absl::StrCat(option, " takes a whole number ", range, ", not ", InQuotes(typed), "."));
}

absl::Status NotAChoice(absl::string_view option, absl::string_view typed,
                        const std::vector<std::string>& choices) {
  return UsageError(absl::StrCat(option, " is one of ", absl::StrJoin(choices, ", "), ", not ",
                                 InQuotes(typed), ".", DidYouMean(typed, choices)));
}

absl::Status BadValue(absl::string_view option, absl::string_view problem) {
  return UsageError(absl::StrCat(option, ": ", problem, "."));
}

}  // namespace usage
}  // namespace hpc::client
