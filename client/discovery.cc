#include "client/discovery.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/unique_fd.h"

namespace hpc::client {
namespace {

constexpr absl::string_view kForms =
    "HPC_COORDINATOR=unix:PATH or HPC_COORDINATOR=ADDR:PORT (hpc-coordinator says them when it "
    "starts)";

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
  if (connect(fd.get(), any, sizeof(address)) == 0) return 0;
  return errno == EAGAIN ? 0 : errno;  // so many wait to be heard that somebody must be listening
}

std::string InShort(int error) {
  if (error == ENOENT) return "no such socket";
  return error == ECONNREFUSED ? "nobody listens" : std::strerror(error);
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

absl::StatusOr<Endpoint> FindCoordinator(const std::string& named, const Environment& environment,
                                         uid_t user) {
  if (!named.empty()) return Parse("--coordinator", named);
  const char* variable = environment("HPC_COORDINATOR");
  if (variable != nullptr && *variable != '\0') return Parse("HPC_COORDINATOR", variable);
  std::vector<std::string> tried;
  for (const std::string& path : CoordinatorSockets(user, environment)) {
    const int error = TryUnix(path);
    if (error == 0) return Endpoint{.is_unix = true, .path = path};
    tried.push_back(absl::StrCat(path, " (", InShort(error), ")"));
  }
  return absl::UnavailableError(
      absl::StrCat("no coordinator answers: HPC_COORDINATOR is not set, and this was found at ",
                   absl::StrJoin(tried, ", "),
                   ". Start hpc-coordinator on this machine, or name one with ", kForms));
}

absl::Status UnreachableError(const Endpoint& endpoint) {
  const std::string tried =
      absl::StrCat("the coordinator at ", endpoint.ToString(), " cannot be reached: ");
  if (endpoint.is_unix) {
    return absl::UnavailableError(absl::StrCat(tried, FoundAtSocket(endpoint.path),
                                               ". If it is elsewhere, name it with ", kForms));
  }
  return absl::UnavailableError(
      absl::StrCat(tried,
                   "no connection. Check that hpc-coordinator runs there, listens on that "
                   "port and is not behind a firewall. If it is elsewhere, name it with ",
                   kForms));
}

}  // namespace hpc::client
