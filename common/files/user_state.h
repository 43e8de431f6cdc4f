// The folder where a user's own daemons keep their state. Pure.
#ifndef HPC_COMMON_FILES_USER_STATE_H_
#define HPC_COMMON_FILES_USER_STATE_H_

#include <functional>
#include <string>

#include "absl/strings/string_view.h"

namespace hpc {

// Reads one environment variable; nullptr when it is not set.
using Environment = std::function<const char*(const char* name)>;

// Returns the state folder of a `daemon` ("coordinator", "worker") that a user other than root
// starts: hpc/<daemon> in $XDG_STATE_HOME, else in ~/.local/state. It is "" where neither
// $XDG_STATE_HOME nor HOME is set.
std::string UserStateDir(absl::string_view daemon, const Environment& environment);

}  // namespace hpc

#endif  // HPC_COMMON_FILES_USER_STATE_H_
