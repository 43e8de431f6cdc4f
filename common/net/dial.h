// Connects to a host by its name or address, or to a Unix socket. It is for code that does not
// leave connecting to gRPC.
#ifndef HPC_COMMON_NET_DIAL_H_
#define HPC_COMMON_NET_DIAL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/net/endpoint.h"
#include "common/unique_fd.h"

namespace hpc {

// Connects to the first of the host's addresses, in the resolver's order, that answers. Blocks
// until `deadline`, and for as long as the resolver does; the returned descriptor does not block.
// Unavailable: no such host, no route, nobody listens; DeadlineExceeded: no answer; Cancelled: see
// Await. The message is in words and without the address. With several addresses, it is about the
// last one.
absl::StatusOr<UniqueFd> Dial(const Endpoint& endpoint, MonoTime deadline, int stop_fd = -1);

// Connects to a stream socket of this machine. The returned descriptor does not block. If there is
// none, errno says why. EAGAIN means that the queue of waiting connections is full, so somebody
// must be listening.
UniqueFd DialUnix(const std::string& path);

// Waits until `fd` can do `events` of poll(2). DeadlineExceeded at `deadline`; Cancelled once
// `stop_fd`, if there is one, can be read.
absl::Status Await(int fd, short events, MonoTime deadline,  // NOLINT: poll's type
                   int stop_fd = -1);

}  // namespace hpc

#endif  // HPC_COMMON_NET_DIAL_H_
