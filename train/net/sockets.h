// The few TCP calls that RankWatch needs, each with a time limit.
#ifndef HPC_TRAIN_NET_SOCKETS_H_
#define HPC_TRAIN_NET_SOCKETS_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace hpc::train {

// Listens on `address`, an IP literal, and on a port that the kernel chooses. Sets `endpoint` to
// "ADDR:PORT". Throws std::system_error.
UniqueFd Listen(const std::string& address, std::string* endpoint);

struct Connection {
  UniqueFd socket;  // none: `error` says why; ETIMEDOUT: nobody answered in time
  int error = 0;
};
Connection ConnectWithin(const std::string& endpoint, std::chrono::milliseconds limit);
// Does the same with the addresses of `host`, in their order, and takes the first that answers.
// Throws std::runtime_error if the name does not resolve.
Connection ConnectToAnyOf(const std::string& host, int port, std::chrono::milliseconds limit);

// Returns whether all of it was sent.
bool SendAll(int socket, absl::string_view bytes);

// A text up to the first newline, without it. `error` is 0 at the end of the stream or after a line
// that is too long, and EAGAIN when the time is over.
struct Line {
  std::optional<std::string> text;
  int error = 0;
};
Line ReadLineWithin(int socket, std::chrono::milliseconds limit, size_t max_bytes);

// Returns whether `address`, an IP literal, cannot be reached from another PC.
bool IsLoopback(absl::string_view address);

// Returns an address of this PC at which others may reach it, for use when nothing says who the
// others are. It is that of the default route, else the IPv4 address of the first interface that is
// up. Sends nothing.
std::optional<std::string> OutwardAddress();

// Returns the address of this PC from which `host` is reached. Sends nothing. Throws
// std::runtime_error if the name does not resolve or no route leads there.
std::string LocalAddressTowards(const std::string& host, int port);

// Returns the first address of the first of `names` (with commas) that has one, IPv4 before IPv6,
// or none if none has.
std::optional<std::string> AddressOfInterface(absl::string_view names);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NET_SOCKETS_H_
