// The texts for a command line that was not understood: what was typed, what was found wrong with
// it, what is allowed, and an example. Tests compare with these same functions. Pure.
#ifndef HPC_CLIENT_CLI_INPUT_USAGE_ERROR_H_
#define HPC_CLIENT_CLI_INPUT_USAGE_ERROR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hpc::client {

// Makes an InvalidArgument that can be told apart from the coordinator's own.
absl::Status UsageError(absl::string_view message);
bool IsUsageError(const absl::Status& status);
// Makes one of what a checker of common/text.h returned; OK stays OK.
absl::Status AsUsageError(const absl::Status& status);

// `command` is a command's name, "" for the program itself.
namespace usage {

absl::Status UnknownCommand(absl::string_view typed, const std::vector<std::string>& commands);
// For a command of two words, such as "token create": `first` is understood, and the second is
// missing.
absl::Status SecondWordMissing(absl::string_view first, const std::vector<std::string>& seconds);
absl::Status UnknownSecondWord(absl::string_view first, absl::string_view typed,
                               const std::vector<std::string>& seconds);
absl::Status UnknownOption(absl::string_view command, absl::string_view typed,
                           const std::vector<std::string>& options);
absl::Status ValueMissing(absl::string_view option, absl::string_view metavar);
absl::Status ValueNotTaken(absl::string_view option, absl::string_view value);
absl::Status ArgumentMissing(absl::string_view command, absl::string_view metavar,
                             absl::string_view example);
absl::Status UnexpectedArgument(absl::string_view command, absl::string_view typed,
                                absl::string_view hint);
// "--priority takes a whole number from -1000 to 1000, not 'high'".
absl::Status NotANumber(absl::string_view option, absl::string_view typed, int64_t min,
                        int64_t max);
absl::Status NotAChoice(absl::string_view option, absl::string_view typed,
                        const std::vector<std::string>& choices);
// `problem` is the sentence that a checker of common/text.h returned.
absl::Status BadValue(absl::string_view option, absl::string_view problem);

}  // namespace usage
}  // namespace hpc::client

#endif  // HPC_CLIENT_CLI_INPUT_USAGE_ERROR_H_
