#include "coordinator/rpc/doors/own_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <memory>
#include <string>

namespace hpc::coordinator {
namespace {

void AddOfFamily(const ifaddrs* all, int family, int port, std::vector<Endpoint>* out) {
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const bool up = (one->ifa_flags & IFF_UP) != 0 && (one->ifa_flags & IFF_LOOPBACK) == 0;
    if (!up || one->ifa_addr == nullptr || one->ifa_addr->sa_family != family) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* address = &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
    if (family == AF_INET6) {
      const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
      if (IN6_IS_ADDR_LINKLOCAL(&six)) continue;
      address = &six;
    }
    inet_ntop(family, address, text.data(), text.size());
    out->push_back({.is_unix = false, .path = "", .host = text.data(), .port = port});
  }
}

}  // namespace

std::vector<Endpoint> OwnAddresses(const Endpoint& listen, size_t limit) {
  if (listen.host != "0.0.0.0" && listen.host != "::") return {listen};
  ifaddrs* found = nullptr;
  if (getifaddrs(&found) != 0) return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> all(found, freeifaddrs);
  std::vector<Endpoint> addresses;
  AddOfFamily(all.get(), AF_INET, listen.port, &addresses);
  if (listen.host == "::") AddOfFamily(all.get(), AF_INET6, listen.port, &addresses);
  if (addresses.size() > limit) addresses.resize(limit);
  return addresses;
}

}  // namespace hpc::coordinator
