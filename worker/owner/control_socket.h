// The socket of the owner's commands, from both ends.
#ifndef HPC_WORKER_OWNER_CONTROL_SOCKET_H_
#define HPC_WORKER_OWNER_CONTROL_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// Replaces a socket that an earlier worker left behind; the caller holds the directory's lock.
absl::StatusOr<UniqueFd> ListenOnControlSocket(const std::string& state_dir);

// Sends one line and waits for the one that answers it. NotFound: no worker runs on that state
// directory. PermissionDenied: it is another user's.
absl::StatusOr<std::string> AskWorker(const std::string& state_dir, const std::string& request);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OWNER_CONTROL_SOCKET_H_
