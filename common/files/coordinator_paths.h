// Where a coordinator keeps its state and listens unless told otherwise, and where its users look
// for it: one rule for both. Pure.
#ifndef HPC_COMMON_FILES_COORDINATOR_PATHS_H_
#define HPC_COMMON_FILES_COORDINATOR_PATHS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/files/user_state.h"

namespace hpc {

struct CoordinatorPaths {
  std::string state_dir, socket;
};

// Of a coordinator that `user` starts. Root: /var/lib/hpc/coordinator and
// /run/hpc/coordinator.sock. Others: hpc/coordinator in $XDG_STATE_HOME (else ~/.local/state), and
// hpc/coordinator.sock in $XDG_RUNTIME_DIR (else coordinator.sock in the state directory).
CoordinatorPaths DefaultCoordinatorPaths(uid_t user, const Environment& environment);

// Its socket when it was given another state directory.
std::string SocketIn(const std::string& state_dir);

// Where `user` finds a coordinator, the likeliest first: the user's own, which may have been
// started without XDG_RUNTIME_DIR or be asked without it, then root's.
std::vector<std::string> CoordinatorSockets(uid_t user, const Environment& environment);

}  // namespace hpc

#endif  // HPC_COMMON_FILES_COORDINATOR_PATHS_H_
