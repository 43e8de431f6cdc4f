// The one line of a program's last words that says what went wrong. Pure.
#ifndef HPC_COMMON_TELLING_LINE_H_
#define HPC_COMMON_TELLING_LINE_H_

#include "absl/strings/string_view.h"

namespace hpc {

// The last line that names a Python exception, else the last one, since a program speaks of its
// failure at its end. Without torch's "[rank1]: ".
absl::string_view TellingLine(absl::string_view text);

}  // namespace hpc

#endif  // HPC_COMMON_TELLING_LINE_H_
