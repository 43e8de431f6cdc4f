// The few TCP calls that RankWatch needs, each with a time limit.
#ifndef HPC_TRAIN_NET_SOCKETS_H_
#define HPC_TRAIN_NET_SOCKETS_H_

#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "common/unique_fd.h"

namespace hpc::train {

// Listens at `address`, an IP literal, and a port that the kernel chooses; `endpoint` becomes
// "ADDR:PORT". Throws std::system_error.
UniqueFd Listen(const std::string& address, std::string* endpoint);

struct Connection {
  UniqueFd socket;  // none: `error` says why, ETIMEDOUT if nobody answered in time
  int error = 0;
};
Connection ConnectWithin(const std::string& endpoint, std::chrono::milliseconds limit);
// The same, of whichever of the addresses of `host` answers first, in their order. Throws
// std::runtime_error if the name does not resolve.
Connection ConnectToAnyOf(const std::string& host, int port, std::chrono::milliseconds limit);

// Whether all of it went out.
bool SendAll(int socket, absl::string_view bytes);

// Up to the first newline, without it. `error` is 0 at the end of the stream or after a line that
// is too long, EAGAIN when the time is over.
struct Line {
  std::optional<std::string> text;
  int error = 0;
};
Line ReadLineWithin(int socket, std::chrono::milliseconds limit, size_t max_bytes);

// Of an IP literal: whether no other PC reaches it.
bool IsLoopback(absl::string_view address);

// An address of this PC by which others may reach it, where nothing says who they are: that of the
// default route, else IPv4 of the first interface that is up. Sends nothing.
std::optional<std::string> OutwardAddress();

// The address of this PC from which `host` is reached. Sends nothing. Throws std::runtime_error if
// the name does not resolve or no route leads there.
std::string LocalAddressTowards(const std::string& host, int port);

// The first address of the first of `names` (with commas) that has one, IPv4 before IPv6; none if
// none has.
std::optional<std::string> AddressOfInterface(absl::string_view names);

}  // namespace hpc::train

#endif  // HPC_TRAIN_NET_SOCKETS_H_
