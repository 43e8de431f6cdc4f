// Both ends of the socket for the owner's commands.
#ifndef HPC_WORKER_OWNER_CONTROL_SOCKET_H_
#define HPC_WORKER_OWNER_CONTROL_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// Replaces a socket that an earlier worker left behind. The caller holds the directory's lock.
absl::StatusOr<UniqueFd> ListenOnControlSocket(const std::string& state_dir);

// Sends one line and waits for the line that answers it. NotFound: no worker runs on that state
// directory. PermissionDenied: the worker belongs to another user.
absl::StatusOr<std::string> AskWorker(const std::string& state_dir, const std::string& request);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OWNER_CONTROL_SOCKET_H_
