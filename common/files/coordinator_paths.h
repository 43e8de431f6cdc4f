// The places where a coordinator keeps its state and listens unless told otherwise, and where its
// users look for it. One rule serves both. Pure.
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

// Returns the paths of a coordinator that `user` starts. Root's are /var/lib/hpc/coordinator and
// /run/hpc/coordinator.sock. Other users have hpc/coordinator in $XDG_STATE_HOME (else
// ~/.local/state), and hpc/coordinator.sock in $XDG_RUNTIME_DIR (else coordinator.sock in the state
// directory).
CoordinatorPaths DefaultCoordinatorPaths(uid_t user, const Environment& environment);

// Returns the coordinator's socket when it was given another state directory.
std::string SocketIn(const std::string& state_dir);

// Returns the sockets where `user` may find a coordinator, the likeliest first. The user's own come
// before root's. The user's own coordinator may run without XDG_RUNTIME_DIR while the client has
// it, or the reverse, so both places are named.
std::vector<std::string> CoordinatorSockets(uid_t user, const Environment& environment);

}  // namespace hpc

#endif  // HPC_COMMON_FILES_COORDINATOR_PATHS_H_
