#include "worker/rendezvous/ip_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hpc::worker::store {
namespace {

const sockaddr_in& AsV4(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr_in&>(address.storage);
}

const sockaddr_in6& AsV6(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr_in6&>(address.storage);
}

}  // namespace

int SocketAddress::port() const {
  return ntohs(storage.ss_family == AF_INET ? AsV4(*this).sin_port : AsV6(*this).sin6_port);
}

std::string SocketAddress::CanonicalIp() const {
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    inet_ntop(AF_INET, &AsV4(*this).sin_addr, text, sizeof text);
  } else if (const in6_addr& ip = AsV6(*this).sin6_addr; IN6_IS_ADDR_V4MAPPED(&ip)) {
    inet_ntop(AF_INET, ip.s6_addr + 12, text, sizeof text);
  } else {
    inet_ntop(AF_INET6, &ip, text, sizeof text);
  }
  return text;
}

bool SocketAddress::IsWildcard() const {
  const std::string ip = CanonicalIp();
  return ip == "0.0.0.0" || ip == "::";
}

absl::StatusOr<SocketAddress> ParseIp(absl::string_view literal, int port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (port < 0 || port > 65535 ||
      getaddrinfo(std::string(literal).c_str(), absl::StrCat(port).c_str(), &hints, &found) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", literal, "\" port ", port,
        ": not an IP address and a port from 0 to 65535; give it like 10.0.0.11 or fd00::11"));
  }
  SocketAddress address;
  memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  freeaddrinfo(found);
  return address;
}

}  // namespace hpc::worker::store
