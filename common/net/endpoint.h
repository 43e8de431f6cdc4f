// The place where a coordinator listens: "unix:PATH" or "ADDR:PORT" ("[::1]:7077" for IPv6).
#ifndef HPC_COMMON_NET_ENDPOINT_H_
#define HPC_COMMON_NET_ENDPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace hpc {

inline constexpr int kDefaultPort = 7077;
inline constexpr size_t kMaxSocketPath = 107;  // the most that sockaddr_un holds

struct Endpoint {
  bool is_unix = false;
  std::string path;  // for a Unix socket
  std::string host;  // an IP literal or a name
  int port = 0;      // 0: the kernel chooses (listening only)

  // Returns the form that gRPC understands: "unix:/run/hpc/coordinator.sock", "10.0.0.1:7077".
  std::string ToString() const;
  bool operator==(const Endpoint&) const = default;
  // Returns whether it is a loopback address or a Unix socket, reachable from this machine only.
  bool IsLocal() const;
};

// A missing port means kDefaultPort. InvalidArgument names the text and shows both forms.
absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text);

}  // namespace hpc

#endif  // HPC_COMMON_NET_ENDPOINT_H_
