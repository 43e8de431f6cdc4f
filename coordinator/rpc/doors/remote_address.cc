#include "coordinator/rpc/doors/remote_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace hpc::coordinator {

std::string AddressOf(const sockaddr_storage& peer) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (peer.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(peer).sin_addr, text.data(),
              text.size());
  } else if (peer.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr, text.data(),
              text.size());
  }
  // A socket that takes both families shows an IPv4 address in this form.
  return std::string(absl::StripPrefix(text.data(), "::ffff:"));
}

std::string EndpointOf(const sockaddr_storage& peer) {
  // The port is at the same offset for both families.
  return absl::StrCat(AddressOf(peer), ":",
                      ntohs(reinterpret_cast<const sockaddr_in&>(peer).sin_port));
}

std::string EndpointOfPeer(absl::string_view grpc_peer) {
  if (!absl::ConsumePrefix(&grpc_peer, "ipv4:")) absl::ConsumePrefix(&grpc_peer, "ipv6:");
  std::string name =
      absl::StrReplaceAll(grpc_peer, {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}});
  // A link-local address is followed by its interface.
  const size_t zone = name.find('%');
  if (zone != std::string::npos) name.erase(zone, name.rfind(':') - zone);
  return name;
}

std::string NetworkOf(const std::string& address) {
  in6_addr six{};
  if (IsLoopback(address) || inet_pton(AF_INET6, address.c_str(), &six) != 1) return address;
  std::fill(six.s6_addr + 8, six.s6_addr + 16, 0);
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, &six, text.data(), text.size());
  return absl::StrCat(text.data(), "/64");
}

bool IsLoopback(absl::string_view address) {
  return address.empty() || address == "::1" || absl::StartsWith(address, "127.");
}

}  // namespace hpc::coordinator
