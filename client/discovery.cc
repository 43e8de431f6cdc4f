#include "client/discovery.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "common/net/dial.h"
#include "common/pki/tls/probe.h"
#include "common/status_macros.h"
#include "member/find_coordinator.h"

namespace hpc::client {
namespace {

constexpr absl::string_view kForms =
    "HPC_COORDINATOR=unix:PATH or HPC_COORDINATOR=ADDR:PORT (hpc-coordinator says them when it "
    "starts)";

constexpr absl::string_view kLogIn =
    "Have a token made on its machine (hpcctl token create --role user) and log in with it here: "
    "'hpcctl login TOKEN'";
constexpr absl::string_view kCheck =
    ". Check that hpc-coordinator runs there, listens on that port and is not behind a firewall";
constexpr absl::Duration kProbeTime = absl::Seconds(3);

absl::StatusOr<Endpoint> Parse(absl::string_view source, const std::string& text) {
  absl::StatusOr<Endpoint> endpoint = ParseEndpoint(text);
  if (endpoint.ok()) return endpoint;
  return absl::InvalidArgumentError(absl::StrCat(source, ": ", endpoint.status().message()));
}

// Returns 0, or the errno of connecting to a Unix socket.
int TryUnix(const std::string& path) {
  const UniqueFd fd = DialUnix(path);
  return fd.ok() || errno == EAGAIN ? 0 : errno;
}

std::string InShort(int error) {
  if (error == ENOENT) return "no such socket";
  return error == ECONNREFUSED ? "nobody listens" : std::strerror(error);
}

// Names the folder that may not be entered, if it is not the socket itself that may not be used.
std::string NotAllowed(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (faccessat(AT_FDCWD, folder.c_str(), X_OK, AT_EACCESS) == 0) continue;
    return absl::StrCat("you may not enter the folder ", folder,
                        ". Ask for a coordinator that is started with --socket in a folder that "
                        "everybody may enter");
  }
  return "you are not allowed to open it; ask for membership of its group";
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
      return NotAllowed(path);
    default:
      return std::strerror(error);
  }
}

std::string VariableOf(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

absl::Status Unreadable(const absl::Status& membership) {
  return absl::FailedPreconditionError(absl::StrCat(
      "your membership cannot be read: ", membership.message(),
      ". Log in again ('hpcctl login TOKEN --replace'), or name a coordinator with ", kForms));
}

absl::StatusOr<Way> NamedWay(absl::string_view source, const std::string& text, bool insecure,
                             const Environment& environment) {
  HPC_ASSIGN_OR_RETURN(const Endpoint endpoint, Parse(source, text));
  if (endpoint.is_unix) return Way{{endpoint}, std::nullopt};
  if (insecure || VariableOf(environment, "HPC_INSECURE") == "1") {
    if (endpoint.IsLocal()) return Way{{endpoint}, std::nullopt};
    return absl::InvalidArgumentError(
        absl::StrCat("--insecure is for a coordinator on this machine, and ", endpoint.ToString(),
                     " is not: anybody on the way could read and change what is said. ", kLogIn));
  }
  absl::StatusOr<pki::Membership> membership = pki::ReadMembership(IdentityFolder(environment));
  if (membership.ok()) return Way{{endpoint}, *std::move(membership)};
  if (!absl::IsNotFound(membership.status())) return Unreadable(membership.status());
  const absl::Status shown = pki::FetchCertificates(endpoint, kProbeTime).status();
  const char* const insecure_too =
      endpoint.IsLocal() ? ". A coordinator started with --insecure is called so too" : "";
  if (!shown.ok()) {
    return absl::UnavailableError(absl::StrCat("the coordinator at ", endpoint.ToString(),
                                               " cannot be reached: ", shown.message(), kCheck,
                                               insecure_too));
  }
  return absl::InvalidArgumentError(absl::StrCat("the coordinator at ", endpoint.ToString(),
                                                 " answers members only, and you are none yet. ",
                                                 kLogIn, insecure_too));
}

}  // namespace

std::string IdentityFolder(const Environment& environment) {
  const std::string config = VariableOf(environment, "XDG_CONFIG_HOME");
  if (!config.empty()) return config + "/hpc/identity";
  return VariableOf(environment, "HOME") + "/.config/hpc/identity";
}

absl::StatusOr<Way> FindCoordinator(const Wishes& wishes, const Environment& environment) {
  const std::string variable = VariableOf(environment, "HPC_COORDINATOR");
  if (!wishes.coordinator.empty()) {
    return NamedWay("--coordinator", wishes.coordinator, wishes.insecure, environment);
  }
  if (!variable.empty()) {
    return NamedWay("HPC_COORDINATOR", variable, wishes.insecure, environment);
  }
  std::vector<std::string> tried;
  for (const std::string& path : CoordinatorSockets(wishes.user, environment)) {
    const int error = TryUnix(path);
    if (error == 0) return Way{{{.is_unix = true, .path = path}}, std::nullopt};
    tried.push_back(absl::StrCat(path, " (", InShort(error), ")"));
  }
  absl::StatusOr<pki::Membership> membership = pki::ReadMembership(IdentityFolder(environment));
  if (membership.ok() && !membership->addresses.empty()) {
    std::vector<Endpoint> addresses = membership->addresses;
    return Way{std::move(addresses), *std::move(membership)};
  }
  if (!membership.ok() && !absl::IsNotFound(membership.status())) {
    return Unreadable(membership.status());
  }
  return absl::UnavailableError(
      absl::StrCat("no coordinator answers: HPC_COORDINATOR is not set, and this was found at ",
                   absl::StrJoin(tried, ", "),
                   ". Start hpc-coordinator on this machine, log in to one with 'hpcctl login "
                   "TOKEN', or name one with ",
                   kForms));
}

absl::Status CheckMembership(const Environment& environment) {
  const absl::Status found = pki::LoadMembership(IdentityFolder(environment)).status();
  return found.ok() ? found : Unreadable(found);
}

absl::Status WhyUnreachable(const Endpoint& endpoint, const member::Security& security,
                            const absl::Status& error, absl::Duration left) {
  if (endpoint.is_unix) return absl::UnavailableError(FoundAtSocket(endpoint.path));
  if (!security.is_tls()) {
    return absl::UnavailableError(
        absl::StrCat(error.message(), kCheck, ", and that it was started with --insecure, too"));
  }
  absl::Status why;
  if (left > absl::ZeroDuration()) {
    why = member::WhyNoTls(endpoint, security.authorities, absl::Now(),
                           [left](const Endpoint& address) {
                             return pki::FetchCertificates(address, std::min(left, kProbeTime));
                           });
  }
  if (absl::IsUnauthenticated(why)) return why;
  return absl::UnavailableError(absl::StrCat((why.ok() ? error : why).message(), kCheck));
}

absl::Status UnreachableError(const std::vector<Tried>& tried) {
  std::string text;
  absl::StatusCode code = absl::StatusCode::kUnavailable;
  for (const Tried& one : tried) {
    if (absl::IsUnauthenticated(one.found)) code = one.found.code();
    absl::StrAppend(&text, text.empty() ? "" : "\n", "the coordinator at ", one.endpoint.ToString(),
                    " cannot be reached: ", one.found.message());
  }
  return absl::Status(code, absl::StrCat(text, ". If it is elsewhere, name it with ", kForms));
}

}  // namespace hpc::client
