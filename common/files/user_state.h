// Where a user's own daemons keep their state. Pure.
#ifndef HPC_COMMON_FILES_USER_STATE_H_
#define HPC_COMMON_FILES_USER_STATE_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace hpc {

// Reads one environment variable; nullptr when it is not set.
using Environment = std::function<const char*(const char* name)>;

// Of a `daemon` ("coordinator", "worker") that somebody other than root starts: hpc/<daemon> in
// $XDG_STATE_HOME, else in ~/.local/state; "" where neither it nor HOME is set.
std::string UserStateDir(absl::string_view daemon, const Environment& environment);

}  // namespace hpc

#endif  // HPC_COMMON_FILES_USER_STATE_H_
