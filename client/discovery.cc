#include "client/discovery.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/unique_fd.h"

namespace hpc::client {
namespace {

constexpr absl::string_view kSystemSocket = "/run/hpc/coordinator.sock";
constexpr absl::string_view kNameOne =
    "Name a coordinator with HPC_COORDINATOR=unix:PATH or HPC_COORDINATOR=ADDR:PORT";

bool IsSocket(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

absl::StatusOr<Endpoint> Parse(absl::string_view source, const std::string& text) {
  absl::StatusOr<Endpoint> endpoint = ParseEndpoint(text);
  if (endpoint.ok()) return endpoint;
  return absl::InvalidArgumentError(absl::StrCat(source, ": ", endpoint.status().message()));
}

// 0 or the errno of connecting to a Unix socket.
int TryUnix(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.ok()) return errno;
  const auto* any = reinterpret_cast<const sockaddr*>(&address);
  return connect(fd.get(), any, sizeof(address)) == 0 ? 0 : errno;
}

std::string FoundAtSocket(const std::string& path) {
  switch (const int error = TryUnix(path)) {
    case 0:
      return "something listens there but does not answer as a coordinator";
    case ENOENT:
      return "there is no such socket (is hpc-coordinator running on this machine?)";
    case ECONNREFUSED:
      return "the socket is there but nobody listens; start hpc-coordinator again";
    case EACCES:
    case EPERM:
      return "you are not allowed to open it; ask for membership of its group";
    default:
      return std::strerror(error);
  }
}

}  // namespace

absl::StatusOr<Endpoint> FindCoordinator(const std::string& named, const Environment& environment) {
  if (!named.empty()) return Parse("--coordinator", named);
  const char* variable = environment("HPC_COORDINATOR");
  if (variable != nullptr && *variable != '\0') return Parse("HPC_COORDINATOR", variable);
  const std::string system(kSystemSocket);
  if (IsSocket(system)) return Endpoint{.is_unix = true, .path = system};
  const char* runtime_dir = environment("XDG_RUNTIME_DIR");
  std::string looked = system;
  if (runtime_dir != nullptr && *runtime_dir != '\0') {
    const std::string own = absl::StrCat(runtime_dir, "/hpc/coordinator.sock");
    if (IsSocket(own)) return Endpoint{.is_unix = true, .path = own};
    absl::StrAppend(&looked, " or ", own);
  }
  return absl::UnavailableError(
      absl::StrCat("no coordinator is known: HPC_COORDINATOR is not set, "
                   "and there is no socket at ",
                   looked, ". ", kNameOne, ", or start hpc-coordinator on this machine"));
}

absl::Status UnreachableError(const Endpoint& endpoint) {
  const std::string tried =
      absl::StrCat("the coordinator at ", endpoint.ToString(), " cannot be reached: ");
  if (endpoint.is_unix) {
    return absl::UnavailableError(
        absl::StrCat(tried, FoundAtSocket(endpoint.path), ". ", kNameOne, " if it is elsewhere"));
  }
  return absl::UnavailableError(
      absl::StrCat(tried,
                   "no connection. Check that hpc-coordinator runs there, listens on that "
                   "port and is not behind a firewall. ",
                   kNameOne, " if it is elsewhere"));
}

}  // namespace hpc::client
