#include "common/net/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace hpc {
namespace {

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not an address: ", why,
                                                 ". Give ADDR:PORT, as 192.168.1.10:", kDefaultPort,
                                                 ", or unix:PATH"));
}

// Returns whether `host` is an address that many or all hosts share, so that nobody can be
// connected to.
bool IsGroup(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return IN_MULTICAST(ntohl(v4.s_addr)) || v4.s_addr == INADDR_BROADCAST;
  }
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_MULTICAST(&v6);
}

}  // namespace

std::string Endpoint::ToString() const {
  if (is_unix) return absl::StrCat("unix:", path);
  if (absl::StrContains(host, ':')) return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

bool Endpoint::IsLocal() const {
  in_addr address{};
  // A name such as "127.example.org" is somebody else's to resolve.
  const bool is_ipv4 = inet_pton(AF_INET, host.c_str(), &address) == 1;
  return is_unix || host == "localhost" || host == "::1" ||
         (is_ipv4 && ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET);
}

absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view text) {
  Endpoint endpoint;
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    if (rest.empty()) return Malformed(text, "the path is empty");
    if (rest.size() > kMaxSocketPath) {
      return Malformed(text, absl::StrCat("the path has ", rest.size(),
                                          " bytes, and the kernel takes at most ", kMaxSocketPath));
    }
    endpoint.is_unix = true;
    endpoint.path = std::string(rest);
    return endpoint;
  }
  if (rest.find_first_of(" \t/") != absl::string_view::npos) {
    return Malformed(text, "write ADDR:PORT; neither has spaces or slashes");
  }
  absl::string_view host = rest, port;
  if (absl::ConsumePrefix(&rest, "[")) {
    const size_t close = rest.find(']');
    if (close == absl::string_view::npos) return Malformed(text, "']' is missing");
    host = rest.substr(0, close);
    port = rest.substr(close + 1);
    if (!port.empty() && !absl::ConsumePrefix(&port, ":")) {
      return Malformed(text, "':PORT' must follow ']'");
    }
  } else if (const size_t colon = rest.rfind(':'); colon != absl::string_view::npos) {
    host = rest.substr(0, colon);
    port = rest.substr(colon + 1);
    if (absl::StrContains(host, ':')) return Malformed(text, "write an IPv6 address in brackets");
    if (port.empty()) return Malformed(text, "the port is missing behind ':'");
  }
  if (host.empty()) return Malformed(text, "the host is empty");
  endpoint.host = std::string(host);
  if (IsGroup(endpoint.host)) return Malformed(text, "that is a group of machines, not one");
  endpoint.port = kDefaultPort;
  if (!port.empty() &&
      (!absl::SimpleAtoi(port, &endpoint.port) || endpoint.port < 0 || endpoint.port > 65535)) {
    return Malformed(text, absl::StrCat("port '", port, "' is not a number from 0 to 65535"));
  }
  return endpoint;
}

}  // namespace hpc
