// Tells whoever started a daemon how it is getting on, by systemd's notify protocol and --ready-fd.
#ifndef HPC_COMMON_PROCESS_NOTIFY_H_
#define HPC_COMMON_PROCESS_NOTIFY_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace hpc {

// Sends `state` ("READY=1", "STOPPING=1", "WATCHDOG=1", "STATUS=...") to $NOTIFY_SOCKET; does
// nothing when that is not set.
void NotifySystemd(absl::string_view state);

// InvalidArgument: `fd`, given to --ready-fd, is not an open descriptor. -1 means that none was
// given.
absl::Status CheckReadyFd(int fd);

// Writes `line` and a line end to `fd` and closes it. Does nothing for a negative fd.
void NotifyReadyFd(int fd, absl::string_view line);

}  // namespace hpc

#endif  // HPC_COMMON_PROCESS_NOTIFY_H_
