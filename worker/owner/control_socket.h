// Both ends of the socket for the owner's commands.
#ifndef HPC_WORKER_OWNER_CONTROL_SOCKET_H_
#define HPC_WORKER_OWNER_CONTROL_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// Replaces a socket that an earlier worker left behind. The caller holds the directory's lock.
absl::StatusOr<UniqueFd> ListenOnControlSocket(const std::string& state_dir);

// A worker answers within milliseconds, or within 2 s if its disk hangs. One that has not answered
// after 10 s stands still, and whoever sits at its PC should know.
inline constexpr absl::Duration kWorkerAnswerTime = absl::Seconds(10);

inline constexpr char kStatusRequest[] = R"({"command":"status"})";

// Sends one line and waits for the line that answers it. It waits for `limit`, and then as long as
// the worker answers kStatusRequest within that time, because a reclaim is answered only when the
// PC is free. NotFound: no worker runs on that state directory. PermissionDenied: the worker
// belongs to another user. DeadlineExceeded: the worker stands still.
absl::StatusOr<std::string> AskWorker(const std::string& state_dir, const std::string& request,
                                      absl::Duration limit = kWorkerAnswerTime);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OWNER_CONTROL_SOCKET_H_
