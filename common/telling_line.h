// The one line of a program's last words that says what went wrong. Pure.
#ifndef HPC_COMMON_TELLING_LINE_H_
#define HPC_COMMON_TELLING_LINE_H_

#include "absl/strings/string_view.h"

namespace hpc {

// Returns the last line that names a Python exception, without torch's "[rank1]: ". If there is
// none, returns the last line, since a program speaks of its failure at its end. Warnings of
// Python, and what torch logs as a warning or for information, are left out, since a program goes
// on after them. Returns "" if nothing is left.
absl::string_view TellingLine(absl::string_view text);

}  // namespace hpc

#endif  // HPC_COMMON_TELLING_LINE_H_
