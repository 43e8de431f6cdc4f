// The socket of the owner's commands, from both ends.
#ifndef HPC_WORKER_OWNER_CONTROL_SOCKET_H_
#define HPC_WORKER_OWNER_CONTROL_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/unique_fd.h"

namespace hpc::worker {

// Replaces a socket that an earlier worker left behind; the caller holds the directory's lock.
absl::StatusOr<UniqueFd> ListenOnControlSocket(const std::string& state_dir);

// A worker answers in milliseconds, and within 2 s where its disk hangs. One that has not in 10 s
// stands still, and whoever sits before its PC should know.
inline constexpr absl::Duration kWorkerAnswerTime = absl::Seconds(10);

inline constexpr char kStatusRequest[] = R"({"command":"status"})";

// Sends one line and waits for the one that answers it: for `limit`, and on as long as the worker
// answers kStatusRequest in that time, since a reclaim is answered when the PC is free. NotFound:
// no worker runs on that state directory. PermissionDenied: it is another user's. DeadlineExceeded:
// it stands still.
absl::StatusOr<std::string> AskWorker(const std::string& state_dir, const std::string& request,
                                      absl::Duration limit = kWorkerAnswerTime);

}  // namespace hpc::worker

#endif  // HPC_WORKER_OWNER_CONTROL_SOCKET_H_
